import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { exporterRunner } from './exporter-runner.ts';
import * as exporters from './service.ts';
import { exportedSeq, exporterStates } from './store.ts';

export { EXPORTERS } from './store.ts';

/** Exporters that metrics show, so that a scrape stays small: those that are farthest behind. */
const SHOWN_MAX = 1000;
const OUTCOMES = ['delivered', 'rejected', 'skipped'] as const;

function showState({ metrics, database }: Kernel): void {
  metrics.collectBy(
    { name: 'cv_exporter_lag_entries', help: 'Entries that an exporter has not sent yet.', labels: ['exporter'] },
    async () =>
      (await exporterStates(database.read, SHOWN_MAX)).map(({ exporter_id, lag }) => ({
        exporter: exporter_id,
        value: lag,
      })),
  );
  metrics.collectBy(
    {
      name: 'cv_exporter_entries_total',
      help: 'Entries that an exporter delivered, that its receiver rejected, or that were skipped, since it was created.',
      labels: ['exporter', 'outcome'],
    },
    async () =>
      (await exporterStates(database.read, SHOWN_MAX)).flatMap((state) =>
        OUTCOMES.map((outcome) => ({ exporter: state.exporter_id, outcome, value: state[outcome] })),
      ),
  );
}

export function exportersFeature(kernel: Kernel): Feature {
  const { http, outbound: guard, clock, version } = kernel;
  const parts = { http, guard, clock, version };
  const runner = exporterRunner(kernel, parts);
  showState(kernel);
  return {
    name: 'exporters',
    endpoints: bindContract(contract, {
      createExporter: (ctx, { body }) => exporters.create(ctx, body),
      listExporters: (ctx, { query }) => exporters.list(ctx, query),
      readExporter: (ctx, { params }) => exporters.read(ctx, params.exporter_id),
      updateExporter: (ctx, { params, body }) => exporters.update(ctx, params.exporter_id, body),
      deleteExporter: (ctx, { params }) => exporters.remove(ctx, params.exporter_id),
      testExporter: (ctx, { params }) => exporters.test(ctx, parts, params.exporter_id),
      replayExporter: (ctx, { params, body }) => exporters.replay(ctx, params.exporter_id, body),
    }),
    provides: { exportedSeq },
    started: () => runner.start(),
    settled: () => runner.stop(),
  };
}
