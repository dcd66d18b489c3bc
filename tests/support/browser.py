"""A page as Chromium lays it out, at several widths: what overlaps, what leaves the page, what is not to be seen or read."""

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
_MEASURE = r"""
function overlap(a, b) { return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; }
function boxes(root, selector) { return Array.from(root.querySelectorAll(selector)); }
function light(color) {
  var parts = color.match(/[\d.]+/g).map(Number);
  var linear = parts.slice(0, 3).map(function (part) {
    return part / 255 <= .04045 ? part / 255 / 12.92 : Math.pow((part / 255 + .055) / 1.055, 2.4);
  });
  return parts[3] === 0 ? null : .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2];
}
function ground(element) {
  for (; element; element = element.parentElement) {
    var found = light(element.ownerDocument.defaultView.getComputedStyle(element).backgroundColor);
    if (found !== null) return found;
  }
  return 1;
}
function faded(element) {
  var opacity = 1;
  for (; element; element = element.parentElement) opacity *= element.ownerDocument.defaultView.getComputedStyle(element).opacity;
  return opacity < .75;
}
function contrast(element) {
  var own = light(element.ownerDocument.defaultView.getComputedStyle(element).color), behind = ground(element);
  return (Math.max(own, behind) + .05) / (Math.min(own, behind) + .05);
}
function measure(frame) {
  var page = frame.contentDocument, faults = [], width = page.documentElement.scrollWidth;
  boxes(page, "h1, h2, h3, p, small, code, td, th, button, .chip, .number").forEach(function (text) {
    if (!text.textContent.trim() || !text.getBoundingClientRect().width) return;
    if (contrast(text) < 4.5 || faded(text))
      faults.push("too pale: " + contrast(text).toFixed(2) + " " + text.textContent.slice(0, 40));
  });
  boxes(page, "summary, button, input").forEach(function (part) {
    part.focus();
    if (part.getBoundingClientRect().width && page.activeElement !== part) faults.push("not reached by keys: " + part.textContent);
  });
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


def faults(
    page: str, folder: Path, widths: Sequence[int] = (400, 800, 1280), dark: bool = False
) -> dict[str, list[str]]:
    """For each width of the window, what is wrong with the page; `dark` for those who prefer dark colours."""
    frames = "".join(f'<iframe width="{width}" height="2000" srcdoc="{escape(page)}"></iframe>' for width in widths)
    file = folder / "around.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><script>{_MEASURE}</script><body>{frames}", encoding="utf-8")
    done = _run(folder, file, "--dump-dom", f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    match = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stdout[-2000:] + done.stderr[-2000:]
    measured: dict[str, Any] = json.loads(unescape(match[1]))
    return measured


def pages_on_paper(page: str, folder: Path) -> int:
    """How many sheets the page is when it is printed."""
    file, sheets = folder / "printed.html", folder / "printed.pdf"
    file.write_text(page, encoding="utf-8")
    _run(folder, file, f"--print-to-pdf={sheets}", "--no-pdf-header-footer")
    return len(re.findall(rb"/Type\s*/Page\b", sheets.read_bytes()))


def _run(folder: Path, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    given = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}", *options]
    command = [str(CHROMIUM), *given, file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=True)
