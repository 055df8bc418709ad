"""The look of the page of a day: one style sheet, no scripts, no requests."""

from __future__ import annotations

STYLE = """
:root { --paper: #fbfaf7; --card: #fff; --ink: #1d2430; --soft: #667085; --line: #e6e2d9;
  --early: #3d7ea6; --early2: #7db0cd; --final: #e07a3f; --batch: #b9b4a7; --good: #2e7d4f;
  --goodbg: #e5f3ea; --bad: #b3372f; --badbg: #fae6e3; --code: #f5f2ea; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --card: #1c2027; --ink: #e8e6e1;
  --soft: #98a1b0; --line: #2d333d; --early: #67a9d0; --early2: #3d6f8e; --final: #f0925a;
  --batch: #565b65; --good: #7fd3a0; --goodbg: #17352a; --bad: #ff9a8f; --badbg: #43211f;
  --code: #232830; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 "Inter", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 48px 28px 80px; }
h1 { font-size: 34px; line-height: 1.15; letter-spacing: -.02em; margin: 0 0 8px; }
h2 { font-size: 23px; letter-spacing: -.01em; margin: 0; }
h3 { font-size: 13px; text-transform: uppercase; letter-spacing: .08em; color: var(--soft);
  margin: 30px 0 10px; font-weight: 600; }
.lead { color: var(--soft); font-size: 18px; max-width: 46em; margin: 0 0 28px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px;
  padding: 26px 30px 28px; margin: 26px 0; box-shadow: 0 1px 2px rgb(0 0 0 / 4%); }
.head { display: flex; align-items: baseline; gap: 14px; flex-wrap: wrap; }
.chip { border-radius: 99px; padding: 3px 12px; font-size: 13.5px; font-weight: 600; }
.good { color: var(--good); background: var(--goodbg); }
.bad { color: var(--bad); background: var(--badbg); }
.what { color: var(--soft); margin: 6px 0 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 14px;
  margin: 22px 0 4px; }
.tile { border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px; }
.tile b { display: block; font-size: 27px; letter-spacing: -.02em; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13.5px; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px;
  font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); font-size: 13px;
  border-bottom: 1px solid var(--line); padding: 6px 10px; vertical-align: bottom; }
td { text-align: right; padding: 7px 10px; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th.left, td.left { text-align: left; }
ul.plain.said { margin-top: 18px; max-width: 60em; font-size: 15px; }
td.no { color: var(--soft); text-align: left; }
.wide { overflow-x: auto; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 13px "Inter", "Segoe UI", system-ui, sans-serif; fill: var(--ink); }
svg .soft { fill: var(--soft); }
svg .strong { font-weight: 600; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 7px; }
details { border-top: 1px solid var(--line); padding: 9px 0; }
details:last-of-type { border-bottom: 1px solid var(--line); }
details details, details details:last-of-type { border: 0; padding: 4px 0 0; }
summary { cursor: pointer; font-weight: 500; }
summary small { color: var(--soft); font-weight: 400; margin-left: 8px; font-size: 13.5px; }
pre { background: var(--code); border-radius: 8px; padding: 12px 16px; overflow-x: auto;
  font: 12.8px/1.5 "JetBrains Mono", "SF Mono", ui-monospace, Menlo, Consolas, monospace; }
ul.plain { margin: 0; padding-left: 20px; } li { margin: 3px 0; }
footer { color: var(--soft); font-size: 14px; margin-top: 40px; }
"""
