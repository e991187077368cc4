import { feature } from '../../kernel/feature/declaration.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { exportedSeq } from '../audit/index.ts';
import * as contract from './contract.ts';
import { exporterRunner } from './exporter-runner.ts';
import * as exporters from './service.ts';
import * as store from './store.ts';
import { EXPORTERS } from './store.ts';

/** Exporters that metrics show, so that a scrape stays small: those that are farthest behind. */
const SHOWN_MAX = 1000;
const OUTCOMES = ['delivered', 'rejected', 'skipped'] as const;

function showState({ metrics, database }: Pick<Kernel, 'database' | 'metrics'>): void {
  metrics.collectBy(
    { name: 'cv_exporter_lag_entries', help: 'Entries that an exporter has not sent yet.', labels: ['exporter'] },
    async () =>
      (await store.exporterStates(database.read, SHOWN_MAX)).map(({ exporter_id, lag }) => ({
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
      (await store.exporterStates(database.read, SHOWN_MAX)).flatMap((state) =>
        OUTCOMES.map((outcome) => ({ exporter: state.exporter_id, outcome, value: state[outcome] })),
      ),
  );
}

export const exportersFeature = feature({
  name: 'exporters',
  endpoints: contract,
  tables: {
    authenticated: [EXPORTERS],
    plain: {
      exporter_progress:
        'how far an exporter has come; entries that are left out or sent again are seen by their numbers, and where they go is decided by the exporter',
      exporter_losses: 'tells what a receiver did not take; decides nothing',
    },
  },
  ids: ['exporter'],
  uses: [
    'activity',
    'clock',
    'damagedSegments',
    'database',
    'http',
    'keyring',
    'log',
    'metrics',
    'nodeId',
    'outbound',
    'regionGate',
    'version',
  ],
  build(parts) {
    const { http, outbound: guard, clock, version } = parts;
    const receiverParts = { http, guard, clock, version };
    const runner = exporterRunner(parts, receiverParts);
    showState(parts);
    return {
      handlers: {
        createExporter: (ctx, { body }) => exporters.create(ctx, body),
        listExporters: (ctx, { query }) => exporters.list(ctx, query),
        readExporter: (ctx, { params }) => exporters.read(ctx, params.exporter_id),
        updateExporter: (ctx, { params, body }) => exporters.update(ctx, params.exporter_id, body),
        deleteExporter: (ctx, { params }) => exporters.remove(ctx, params.exporter_id),
        testExporter: (ctx, { params }) => exporters.test(ctx, receiverParts, params.exporter_id),
        replayExporter: (ctx, { params, body }) => exporters.replay(ctx, params.exporter_id, body),
      },
      provides: [exportedSeq.by(store.exportedSeq)],
      workers: [runner],
    };
  },
});
