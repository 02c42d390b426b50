psim check platform/trace.toml --set cluster.network.platform=../files/platform_options.xml | head -n 8
