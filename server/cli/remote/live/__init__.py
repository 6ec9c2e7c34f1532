"""The command that fills a terminal and follows what happens: its extra `top` brings Textual."""
