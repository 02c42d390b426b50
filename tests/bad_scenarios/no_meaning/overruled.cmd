# What --set or an axis decides takes away a field's meaning without a word.
cat >small.toml <<'END'
[model]
layers = [64, 10]
[training]
batch_size = 16
steps = 4
[cluster]
workers = 2
servers = 2
[replication]
copies = 1
window = 2
END
psim check small.toml --set replication.copies=0 >/dev/null
psim compare small.toml --set 'replication.copies=[0, 1]' --set 'replication.window=[1, 3]' >/dev/null
sed -i 's/copies = 1/copies = 0/' small.toml
psim check small.toml
rm -rf small.toml studies
