"""Finds mistakes in a built site: broken links and anchors, missing pictures, requests to other hosts.

`check.py SITE` prints the mistakes, and fails if it finds any.
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

REQUESTS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data"),
            ("link", "href"), ("image", "href"), ("use", "href")}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.requests = {""}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        if tag == "link" and values.get("rel") == "canonical":
            return
        for key, value in attributes:
            if (tag, key) in REQUESTS:
                self.requests.append(value)
            elif tag == "a" and key == "href":
                self.links.append(value)


def of_styles(path):
    """The requests of a style sheet."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    found = re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(r"@import\s+['\"]([^'\"]+)", text)
    return [value for value in found if not value.startswith(("data:", "#"))]


def offences(out):
    sheets = {path: of_styles(path) for path in out.rglob("*.css")}
    documents = {path.resolve(): Page(path.read_text()) for path in out.rglob("*.html")}
    found = []
    for path, requests in [*sheets.items(), *((path, page.requests) for path, page in documents.items())]:
        name = path.relative_to(out)
        for value in requests:
            address = urllib.parse.urlsplit(value)
            if address.scheme == "data":
                continue
            if address.scheme or address.netloc:
                found.append(f"{name}: a request to another host: {value}")
            elif address.path and name.name != "404.html" and not target(path, address).is_file():
                found.append(f"{name}: this is missing: {value}")
    for path, page in documents.items():
        for value in page.links:
            found += broken(documents, path, value, path.relative_to(out))
    return found


def target(path, address):
    return path.parent.joinpath(urllib.parse.unquote(address.path)).resolve() if address.path else path


def broken(documents, path, value, name):
    address = urllib.parse.urlsplit(value)
    if address.scheme or address.netloc or name.name == "404.html":
        return []
    to = target(path, address)
    if not to.is_file():
        return [f"{name}: a broken link: {value}"]
    anchor = urllib.parse.unquote(address.fragment)
    if to in documents and anchor not in documents[to].anchors:
        return [f"{name}: a link to an anchor that is not there: {value}"]
    return []


if __name__ == "__main__":
    wrong = offences(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
