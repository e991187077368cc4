import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, Registry } from 'prom-client';
import { RequestMetrics } from './request-metrics.ts';

const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

test('what Prometheus reads is what its own client would have told', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const metrics = new RequestMetrics();
  for (const metric of metrics.metrics()) ours.registerMetric(metric);
  const counter = new Counter({
    name: 'cv_http_requests_total',
    help: 'Requests by endpoint and status.',
    labelNames: ['endpoint', 'status'],
    registers: [theirs],
  });
  const histogram = new Histogram({
    name: 'cv_http_request_duration_seconds',
    help: 'Time from a parsed request to its response, including the audit log.',
    labelNames: ['endpoint'],
    buckets: BUCKETS,
    registers: [theirs],
  });
  const durations = [0, 0.0005, 0.00051, 0.003, 0.25, 0.2501, 9.99, 10, 10.01, 3600];
  for (const [endpoint, status] of [
    ['readMe', 200],
    ['readMe', 401],
    ['readSecret', 200],
  ] as const) {
    for (const seconds of durations) {
      metrics.observe(endpoint, status, seconds);
      counter.labels(endpoint, String(status)).inc();
      histogram.labels(endpoint).observe(seconds);
    }
  }
  assert.equal(await ours.metrics(), await theirs.metrics());
});
