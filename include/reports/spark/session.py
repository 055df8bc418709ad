"""The settings of Spark on which the meaning of SQL depends, and what a report says of its session.

:data:`FIXED` is taken from the configuration registry of Spark 4.1: every setting that decides how
a text is read, which type an expression has, or which value it gives. Texts are read, planned and
tested with these values, which are Spark's own defaults. Each setting of the registry is either in
this list, or a field of :class:`Session`, or known not to change what SQL means
(``tests/spark/settings_without_meaning.txt``); a test compares with the registry, so that a setting
that a new Spark brings has to be looked at. A deployment that wants another value gets an error
that names the setting, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from forerun.include.reports.values.clock import parse_zone
from forerun.include.reports.values.fields import take_fields
from forerun.planner.errors import ForerunError
from forerun.planner.request import ANSI, TIME_ZONE

_PREFIX = "spark.sql."
UNDEFINED = "<undefined>"
"""The value of a setting that has none, as Spark's registry writes it."""
_BY_VALUE = {
    "false": (
        "analyzer.allowSubqueryExpressionsInLambdasOrHigherOrderFunctions "
        "analyzer.singlePassResolver.enabled analyzer.singlePassResolver.enabledTentatively "
        "ansi.doubleQuotedIdentifiers ansi.enforceReservedKeywords ansi.relationPrecedence "
        "caseSensitive charAsVarchar collation.allowInMapKeys collation.schemaLevel.enabled "
        "legacy.collationAwareHashFunctions files.ignoreInvalidPartitionPaths "
        "function.concatBinaryAsString function.eltOutputAsString geospatial.enabled "
        "legacy.allowHashOnMapType legacy.allowNegativeScaleOfDecimal "
        "legacy.allowNullComparisonResultInArraySort legacy.allowParameterlessCount "
        "legacy.allowStarWithSingleTableIdentifierInCount legacy.allowZeroIndexInFormatString "
        "legacy.bangEqualsNot legacy.castComplexTypesToString.enabled legacy.charVarcharAsString "
        "legacy.codingErrorAction legacy.consecutiveStringLiterals.enabled "
        "legacy.createEmptyCollectionUsingStringType "
        "legacy.decimal.retainFractionDigitsOnTruncate legacy.disableMapKeyNormalization "
        "legacy.duplicateBetweenInput legacy.earlyEvalCurrentTime "
        "legacy.exponentLiteralAsDecimal.enabled legacy.fromDayTimeString.enabled "
        "legacy.groupingIdWithAppendedUserGroupBy legacy.identifierClause "
        "legacy.inSubqueryNullability legacy.integerGroupingId legacy.interval.enabled "
        "legacy.javaCharsets legacy.json.allowEmptyString.enabled "
        "legacy.lpadRpadAlwaysReturnString legacy.negativeIndexInArrayInsert "
        "legacy.noCharPaddingInPredicate legacy.nullValueWrittenAsQuotedEmptyStringCsv "
        "legacy.parameterSubstitution.constantsOnly legacy.parquet.nanosAsLong "
        "legacy.parquet.returnNullStructIfAllFieldsMissing legacy.parseQueryWithoutEof "
        "legacy.parser.havingWithoutGroupByAsWhere legacy.percentileDiscCalculation "
        "legacy.scalarSubqueryAllowGroupByNonEqualityCorrelatedPredicate "
        "legacy.scalarSubqueryCountBugBehavior legacy.setopsPrecedence.enabled "
        "legacy.statisticalAggregate legacy.truncateForEmptyRegexSplit "
        "legacy.typeCoercion.datetimeToString.enabled legacy.useLegacyXMLParser "
        "legacy.v1IdentifierNoCatalog mergeNestedTypeCoercion.enabled "
        "optimizer.decorrelateExistsSubqueryLegacyIncorrectCountHandling.enabled "
        "optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled optimizer.metadataOnly "
        "parquet.binaryAsString parquet.fieldId.read.enabled parquet.fieldId.read.ignoreMissing "
        "parquet.ignoreVariantAnnotation parquet.int96TimestampConversion "
        "parquet.reader.respectUnknownTypeAnnotation.enabled parquet.writeLegacyFormat "
        "parser.escapedStringLiterals parser.quotedRegexColumnNames preserveCharVarcharTypeInfo "
        "stableDerivedColumnAlias.enabled timeType.enabled variant.allowDuplicateKeys"
    ),
    "true": (
        "collation.objectLevel.enabled collation.trim.enabled "
        "allowNamedFunctionArguments analyzer.preferColumnOverLcaInArrayIndex "
        "analyzer.scalarSubqueryAllowGroupByColumnEqualToConstant chunkBase64String.enabled "
        "crossJoin.enabled csv.parser.columnPruning.enabled decimalOperations.allowPrecisionLoss "
        "enforceTypeCoercionBeforeUnionDeduplication.enabled groupByAliases groupByOrdinal "
        "icu.caseMappings.enabled json.enableExactStringParsing json.enablePartialResults "
        "jsonGenerator.ignoreNullFields jsonGenerator.writeNullIfWithDefaultValue "
        "lateralColumnAlias.enableImplicitResolution legacy.followThreeValuedLogicInArrayExists "
        "legacy.histogramNumericPropagateInputType legacy.literal.pickMinimumPrecision "
        "legacy.sizeOfNull mapZipWithUsesJavaCollections operatorPipeSyntaxEnabled "
        "optimizer.decorrelateSubqueryPreventConstantHoldingForCountBug.enabled orderByOrdinal "
        "parquet.inferTimestampNTZ.enabled parquet.int96AsTimestamp "
        "prioritizeOrdinalResolutionInSort.enabled readSideCharPadding "
        "runCollationTypeCastsBeforeAliasAssignment.enabled"
    ),
    "CORRECTED": (
        "avro.datetimeRebaseModeInRead legacy.ctePrecedencePolicy legacy.timeParserPolicy "
        "parquet.datetimeRebaseModeInRead parquet.datetimeRebaseModeInWrite "
        "parquet.int96RebaseModeInRead parquet.int96RebaseModeInWrite"
    ),
    UNDEFINED: (
        "legacy.csv.enableDateTimeParsingFallback legacy.json.enableDateTimeParsingFallback "
        "legacy.nullInEmptyListBehavior"
    ),
    "_corrupt_record": "columnNameOfCorruptRecord",
    "EXCEPTION": "mapKeyDedupPolicy",
    "TIMESTAMP_LTZ": "timestampType",
}
FIXED: Mapping[str, str] = MappingProxyType(
    {_PREFIX + name: value for value, names in _BY_VALUE.items() for name in names.split()}
)
"""The one value of each setting, by its full name."""


class SessionError(ForerunError):
    """A session has another value for a setting than the one that texts are read with."""

    code = "session"


class Differing(NamedTuple):
    """A setting whose value is not the one in :data:`FIXED`."""

    name: str
    found: str
    fixed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session that a report's SQL runs in."""

    time_zone: str = ""
    """The time zone by which ``hour(ts)``, ``CAST(ts AS DATE)``, ``TIMESTAMP '...'`` and the like
    go; empty for the report's own ``timezone``."""
    ansi: bool = True
    """Whether Spark's ANSI mode is on. Without it a cast that fails gives NULL and a sum that
    overflows wraps around, and such a report is always computed in batch, by its own text."""

    def __post_init__(self) -> None:
        take_fields(self, "Session")
        if self.time_zone:
            parse_zone(self.time_zone)

    def settings(self, timezone: str) -> tuple[tuple[str, str], ...]:
        """The settings of the session of a report whose own time zone is ``timezone``."""
        return ((ANSI, str(self.ansi).lower()), (TIME_ZONE, self.time_zone or timezone))


def differing(value_of: Callable[[str], str | None]) -> Iterator[Differing]:
    """Yield the settings that have another value than the fixed one. ``value_of`` gives the value
    of a setting by its name, None where nothing is said of it."""
    for name, fixed in FIXED.items():
        found = value_of(name)
        if found is None or found == UNDEFINED:
            continue
        if found.strip().lower() != fixed.lower():
            yield Differing(name, found, fixed)


def refuse_differing(value_of: Callable[[str], str | None]) -> None:
    """Raise :class:`SessionError` that names the settings for which the deployment has another
    value than the one that texts are read with (:func:`differing`)."""
    if found := list(differing(value_of)):
        raise SessionError(
            "the deployment sets "
            + ", ".join(f"{one.name}={one.found} (it has to be {one.fixed})" for one in found)
            + ": the meaning of SQL depends on it",
            hint=SETTING_HINT,
        )


SETTING_HINT = (
    "Take it out of the spark-defaults.conf, the connection or the server that runs reports "
    "(docs/guides/operations.md, Settings that SQL depends on). Time zone and ANSI mode are fields "
    "of the report: session=Session(time_zone=..., ansi=...)."
)
"""What to do about a setting of the deployment that differs."""
