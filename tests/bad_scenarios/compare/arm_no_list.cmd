psim compare compare/arm_no_list.toml
