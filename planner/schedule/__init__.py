"""Decide when reports run: which early runs each makes, when, and in which order under one ceiling.

Pure values and functions. An instant is a float, seconds since an origin that the caller chooses
once (the UNIX epoch, or the start of the night); clock times, time zones and daylight saving end at
the border (:mod:`forerun.include.reports.values.hours`). A row is whole.

The method is that of Chandrasekaran and Sudarshan, "Scheduling of Intermittent Query Processing";
where a section is named without a paper, it is a section of that one.
"""
