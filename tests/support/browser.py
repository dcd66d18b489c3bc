"""A page as Chromium lays it out, at several widths: what overlaps, what leaves the page, what is not to be seen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_LIMIT = 120  # seconds
_MEASURE = """
function overlap(a, b) { return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; }
function boxes(root, selector) { return Array.from(root.querySelectorAll(selector)); }
function measure(frame) {
  var page = frame.contentDocument, faults = [], width = page.documentElement.scrollWidth;
  if (width > frame.clientWidth) faults.push("wider than the window: " + width);
  boxes(page, "summary, .who > span").forEach(function (row) {
    var parts = Array.from(row.children).filter(function (part) { return part.getBoundingClientRect().width > 0; });
    parts.forEach(function (one, at) {
      parts.slice(at + 1).forEach(function (other) {
        if (!overlap(one.getBoundingClientRect(), other.getBoundingClientRect())) return;
        faults.push("overlap: " + one.textContent + " / " + other.textContent);
      });
      if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth) faults.push("overflow: " + one.textContent);
    });
    boxes(row, ".chip").forEach(function (chip) {
      if (!chip.getBoundingClientRect().width) faults.push("hidden: " + chip.textContent);
    });
    boxes(row, ".number").forEach(function (number) {
      if (number.getBoundingClientRect().height > 40) faults.push("broken: " + number.textContent);
    });
  });
  return faults;
}
addEventListener("load", function () {
  var out = {};
  boxes(document, "iframe").forEach(function (frame) { out[frame.width] = measure(frame); });
  document.body.innerHTML = "<pre id=out></pre>";
  document.getElementById("out").textContent = JSON.stringify(out);
});
"""


def faults(page: str, folder: Path, widths: Sequence[int] = (400, 800, 1280)) -> dict[str, list[str]]:
    """For each width of the window, what is wrong with the layout."""
    frames = "".join(f'<iframe width="{width}" height="2000" srcdoc="{escape(page)}"></iframe>' for width in widths)
    file = folder / "around.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><script>{_MEASURE}</script><body>{frames}", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}", "--dump-dom"]
    command = [str(CHROMIUM), *options, file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=True)
    match = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stdout[-2000:] + done.stderr[-2000:]
    measured: dict[str, Any] = json.loads(unescape(match[1]))
    return measured
