"""Reads the tables of a trace with polars and DuckDB, and prints what both say of them."""

import sys

import duckdb
import polars

folder = sys.argv[1]
jobs, segments, marks = (f"{folder}/trace.{name}.parquet" for name in ("jobs", "segments", "marks"))


def by_polars():
    table = polars.read_parquet(jobs)
    ran = polars.read_parquet(segments)
    yield len(table)
    yield table["response_ns"].sum()
    yield table["response_ns"].null_count()
    yield table["missed"].sum()
    yield (ran["end_ns"] - ran["start_ns"]).sum()
    yield len(ran.filter(polars.col("name") == "t0"))
    yield len(polars.read_parquet(marks))


def by_duckdb():
    def one(query):
        return duckdb.sql(query).fetchall()[0][0]

    yield one(f"select count(*) from '{jobs}'")
    yield one(f"select sum(response_ns)::bigint from '{jobs}'")
    yield one(f"select count(*) from '{jobs}' where response_ns is null")
    yield one(f"select count(*) from '{jobs}' where missed")
    yield one(f"select sum(end_ns - start_ns)::bigint from '{segments}'")
    yield one(f"select count(*) from '{segments}' where name = 't0'")
    yield one(f"select count(*) from '{marks}'")


def schema(path):
    rows = duckdb.sql(f"select key, value from parquet_kv_metadata('{path}')").fetchall()
    return {bytes(key).decode(): bytes(value).decode() for key, value in rows}["layland.schema"]


print(*by_polars())
print(*by_duckdb())
print(*(schema(path) for path in (jobs, segments, marks)))
