"""Who may load the page, who may steer it, and the server that asks."""
