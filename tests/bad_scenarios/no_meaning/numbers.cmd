# What changes nothing because of a number is noted, and keeps nothing from running.
psim check files/no_meaning_numbers.toml >/dev/null
psim check files/no_meaning_weights.toml >/dev/null
psim check files/no_meaning_phantom_rate.toml >/dev/null
psim check files/no_meaning_idle.toml >/dev/null
psim check files/no_meaning_time.toml >/dev/null
psim check files/no_meaning_peers.toml >/dev/null
psim check files/no_meaning_one_machine.toml >/dev/null
psim check files/no_meaning_small_updates.toml >/dev/null
psim check files/no_meaning_small_updates.toml --set consistency.aggregation=krum --set consistency.byzantine=2 >/dev/null
psim check files/no_meaning_phantom_rate.toml --set data.source=blobs --set model.activations=10 >/dev/null
psim check files/no_meaning_tasks.toml >/dev/null
# Each of these needs what the note is about, so there is none.
psim check files/no_meaning_idle.toml --set 'model.layers=[64, 8, 10]' --set snapshot.every=1s >/dev/null
psim check files/no_meaning_time.toml --set 'filter=[{kind="fp16", flops_per_value=1}]' --set inference.rate=1 >/dev/null
psim check files/no_meaning_small_updates.toml --set consistency.trimmed_share=0.34 >/dev/null
