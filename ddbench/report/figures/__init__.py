"""Figures as SVG text: `draw` of a module takes one dataclass of plain data and gives one file.

A figure is a whole SVG document, which stands beside Markdown as a file, and the same text is
placed as it is into an HTML page. It brings its own colours for light and dark; a page that defines
--series-1 to --series-8, --ink, --muted, --grid, --surface or --focus overrules them.
"""
