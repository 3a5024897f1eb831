"""Sends one trace with the OpenTelemetry SDK and prints its id.

    python3 -m venv .venv
    .venv/bin/pip install opentelemetry-sdk opentelemetry-exporter-otlp
    .venv/bin/python examples/send_traces.py

OTLP over gRPC to localhost:4317 by default. The SDK's own variables choose otherwise:
OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf sends over HTTP to localhost:4318, OTEL_EXPORTER_OTLP_ENDPOINT elsewhere.
"""

import os
import sys

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, format_trace_id

if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc") == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter


class Exporter(OTLPSpanExporter):
    """Remembers whether everything was answered with success: force_flush is true even where nothing arrived."""

    delivered = True

    def export(self, spans):
        result = super().export(spans)
        self.delivered = self.delivered and result is SpanExportResult.SUCCESS
        return result


exporter = Exporter()
provider = TracerProvider(resource=Resource.create({"service.name": "shop", "shop.shelf": 7}))
provider.add_span_processor(BatchSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("examples.send_traces", "1.0")

with tracer.start_as_current_span("order", kind=SpanKind.SERVER) as order:
    order.set_attribute("http.request.method", "POST")
    order.set_attribute("order.items", 3)
    order.set_attribute("order.total", 59.5)
    order.set_attribute("order.gift", True)
    order.set_attribute("order.names", ["lamp", "rug", "vase"])
    order.add_event("checked out", {"basket": "b-17"})

    with tracer.start_as_current_span("reserve") as reserve:
        reserve.set_attribute("stock.left", 0)

    link = Link(reserve.get_span_context(), {"why": "needs the reservation"})
    with tracer.start_as_current_span("pay", kind=SpanKind.CLIENT, links=[link]) as pay:
        pay.record_exception(TimeoutError("the bank did not answer"))
        pay.set_status(Status(StatusCode.ERROR, "payment timed out"))

flushed = provider.force_flush()
provider.shutdown()
if not (flushed and exporter.delivered):
    sys.exit("not delivered: is sluice running?")
print(format_trace_id(order.get_span_context().trace_id))
