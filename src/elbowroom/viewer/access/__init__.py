"""Access to the page: who may load it, who may steer it, and the server that checks both."""
