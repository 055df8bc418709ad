"""The templates of the picture and the page of a night (:mod:`forerun.night.picture`)."""

from __future__ import annotations

PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{ wide }} {{ high }}" role="img"
  class="night" font-family="system-ui, 'Segoe UI', 'Helvetica Neue', sans-serif" font-size="12">
<title>{{ title }}</title>
<style>
.night { --paper:#fbfaf7; --ink:#1d2430; --soft:#667085; --line:#e2ddd2; --early:#3d7ea6;
  --final:#e07a3f; --bad:#b3372f; --rows:#dfe7ec; --busy:#9fc0d4; --price:#c9a227; --night:#d9d4c8 }
@media (prefers-color-scheme: dark) { .night { --paper:#14171c; --ink:#e8e6e1; --soft:#98a1b0;
  --line:#2d333d; --early:#67a9d0; --final:#f0925a; --bad:#ff8a7d; --rows:#242c35; --busy:#345a70;
  --price:#b8962e; --night:#343a44 } }
.night .bg { fill:var(--paper) } .night text { fill:var(--ink) }
.night .soft { fill:var(--soft) } .night .grid { stroke:var(--line); fill:none }
.night .rows { fill:var(--rows) } .night .busy { fill:var(--busy) }
.night .ceiling { stroke:var(--ink); stroke-width:1.6; fill:none }
.night .price { fill:var(--price) } .night .blackout { fill:url(#closed) }
.night .early { fill:var(--early) } .night .final { fill:var(--final) }
.night .failed, .night .lost { fill:var(--paper); stroke:var(--bad); stroke-width:1.4 }
.night .lost { stroke-dasharray:3 2 }
.night .planned { fill:none; stroke:var(--soft); stroke-dasharray:2 2 }
.night .due { stroke:var(--ink); stroke-width:2 } .night .due-flag { fill:var(--ink) }
.night .safe { fill:none; stroke:var(--soft); stroke-width:1.4 }
.night .bad { fill:var(--bad) } .night .bad-line { stroke:var(--bad); stroke-width:2 }
.night .complete { fill:var(--soft) }
</style>
<defs><pattern id="closed" width="7" height="7" patternUnits="userSpaceOnUse"
  patternTransform="rotate(45)"><rect width="7" height="7" fill="var(--night)" opacity=".45"/>
<rect width="2" height="7" fill="var(--soft)" opacity=".5"/></pattern></defs>
<rect class="bg" width="100%" height="100%" rx="12"/>
<text x="24" y="32" font-size="17" font-weight="600">{{ title }}</text>
{% for x, label in ticks %}
<path class="grid" d="M{{ x }} {{ cores_top - 6 }} V{{ bottom }}"/>
<text class="soft" x="{{ x }}" y="{{ cores_top - 12 }}" text-anchor="middle">{{ label }}</text>
<text class="soft" x="{{ x }}" y="{{ bottom + 17 }}" text-anchor="middle">{{ label }}</text>
{% endfor %}
{% for x, end in blackouts %}
<rect class="blackout" x="{{ x }}" y="{{ cores_top }}" width="{{ end - x }}"
  height="{{ bottom - cores_top }}"><title>nothing may run</title></rect>
{% endfor %}
<path class="busy" d="{{ busy }}"/>
<path class="ceiling" d="{{ ceiling }}"/>
<text class="soft" x="{{ left - 10 }}" y="{{ cores_top + 5 }}" text-anchor="end">{{ most }} cores\
</text>
<text class="soft" x="{{ left - 10 }}" y="{{ cores_top + cores_high }}" text-anchor="end">0</text>
{% for x, wide, strength, label in prices %}
<rect class="price" x="{{ x }}" y="{{ price_top }}" width="{{ wide }}" height="{{ price_high }}"
  opacity="{{ strength }}"/>
<text x="{{ x + wide / 2 }}" y="{{ price_top + 14 }}" text-anchor="middle" font-size="11.5">\
{{ label }}</text>
{% endfor %}
<text class="soft" x="{{ left - 10 }}" y="{{ price_top + 14 }}" text-anchor="end">price</text>
{% for row in rows %}
<g><title>{{ row.tip }}</title>
<path class="grid" d="M24 {{ row.y + row.high }} H{{ left + span }}"/>
<path class="rows" d="{{ row.arrivals }}"/>
<text x="{{ left - 10 }}" y="{{ row.y + row.high / 2 + 4 }}" text-anchor="end"
{% if small %} font-size="9.5"{% endif %}>{{ row.name[:24] }}</text>
<circle class="complete" cx="{{ row.complete }}" cy="{{ row.y + row.high / 2 }}"
  r="{{ 2 if small else 3 }}"/>
{% for x, wide, kind, tip in row.bars %}
<rect class="{{ kind }}" x="{{ x }}" y="{{ row.y + row.high * 0.2 }}" width="{{ wide }}"
  height="{{ row.high * 0.6 }}" rx="2.5"><title>{{ tip }}</title></rect>
{% endfor %}
<path class="safe" d="M{{ row.latest - 4 }} {{ row.y + 3 }} h8 l-4 6 z"/>
<path class="{{ 'bad-line' if row.late else 'due' }}"
  d="M{{ row.deadline }} {{ row.y + 2 }} V{{ row.y + row.high - 2 }}"/>
<text class="{{ 'bad' if row.late else 'soft' }}" x="{{ left + span + 12 }}"
  y="{{ row.y + row.high / 2 + 4 }}"{% if small %} font-size="9.5"{% endif %}>{{ row.left }}</text>
</g>
{% endfor %}
<g transform="translate({{ left }} {{ bottom + 42 }})" font-size="11.5">
<rect class="early" width="18" height="11" rx="2.5"/>
<text class="soft" x="25" y="10">early run</text>
<rect class="final" x="104" width="18" height="11" rx="2.5"/>
<text class="soft" x="129" y="10">final run</text>
<circle class="complete" cx="213" cy="6" r="3"/><text class="soft" x="222" y="10">complete</text>
<path class="safe" d="M306 2 h8 l-4 6 z"/><text class="soft" x="320" y="10">latest start</text>
<path class="due" d="M412 -1 V12"/><text class="soft" x="420" y="10">due</text>
<path class="ceiling" d="M468 6 h18"/><text class="soft" x="492" y="10">ceiling</text>
<rect class="busy" x="556" width="18" height="11"/>
<text class="soft" x="581" y="10">busy cores</text>
<rect class="rows" x="668" width="18" height="11"/>
<text class="soft" x="693" y="10">rows that have come</text>
{% if outline %}
<rect class="planned" y="19" width="18" height="11" rx="2.5"/>
<text class="soft" x="25" y="29">planned</text>
<rect class="failed" x="104" y="19" width="18" height="11" rx="2.5"/>
<text class="soft" x="129" y="29">failed</text>
<rect class="lost" x="206" y="19" width="18" height="11" rx="2.5"/>
<text class="soft" x="231" y="29">lost: its cores wait for the end of a lease</text>
{% endif %}
</g>
</svg>
"""

PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>The night of {{ night.day }}</title><style>
:root { --paper:#f4f2ec; --card:#fff; --ink:#1d2430; --soft:#667085; --line:#e6e2d9;
  --bad:#b3372f; --good:#2e7d4f }
@media (prefers-color-scheme: dark) { :root { --paper:#0f1216; --card:#1c2027; --ink:#e8e6e1;
  --soft:#98a1b0; --line:#2d333d; --bad:#ff9a8f; --good:#7fd3a0 } }
body { margin:0; background:var(--paper); color:var(--ink);
  font:16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", sans-serif }
main { max-width:1200px; margin:0 auto; padding:36px 24px 60px }
h1 { font-size:28px; letter-spacing:-.02em; margin:0 }
.lead { color:var(--soft); margin:4px 0 22px }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(180px,1fr)); gap:14px;
  margin-bottom:22px }
.tile { background:var(--card); border:1px solid var(--line); border-radius:10px;
  padding:12px 16px }
.tile b { display:block; font-size:25px; font-variant-numeric:tabular-nums }
.tile span { color:var(--soft); font-size:13.5px }
.bad { color:var(--bad) } .good { color:var(--good) }
.card { background:var(--card); border:1px solid var(--line); border-radius:14px; padding:8px;
  overflow-x:auto } svg { display:block; min-width:900px; width:100% }
table { border-collapse:collapse; width:100%; margin-top:26px; font-size:14.5px;
  font-variant-numeric:tabular-nums }
th { text-align:left; color:var(--soft); font-size:13px; font-weight:600 }
th, td { padding:6px 10px 6px 0; border-bottom:1px solid var(--line) }
</style></head><body><main>
<h1>The night of {{ night.day }}</h1>
<p class="lead">{{ record.reports | length }} reports, times in {{ night.zone.key }}; hours run on
past midnight, so 26:30 is half past two.</p>
<div class="tiles">
<div class="tile">
<b class="{{ 'bad' if record.missed else 'good' }}">{{ record.missed | length }}</b>
<span>deadlines missed</span></div>
<div class="tile"><b>{{ record.one_batch_each.missed | length }}</b>
<span>missed with one batch each</span></div>
<div class="tile"><b>{{ '{:,.1f}'.format(record.paid / 3600) }}</b>
<span>core hours paid, by price</span></div>
<div class="tile"><b>{{ '{:,.1f}'.format(record.one_batch_each.paid / 3600) }}</b>
<span>paid with one batch each</span></div>
<div class="tile"><b>{{ '{:g}'.format(record.peak_cores) }}</b><span>cores at the peak</span></div>
</div>
<div class="card">{{ picture }}</div>
<table><tr>{% for name in lines[0] %}<th>{{ name }}</th>{% endfor %}</tr>
{% for line in lines[1:] %}
<tr{% if line[0] in record.missed %} class="bad"{% endif %}>\
{% for value in line %}<td>{{ value }}</td>{% endfor %}</tr>
{% endfor %}
</table>
{% for remark in night.remarks %}<p class="lead">{{ remark }}</p>{% endfor %}
{% for name, why in night.left_out.items() %}<p class="lead">{{ name }} is left out: {{ why }}</p>\
{% endfor %}
</main></body></html>
"""
