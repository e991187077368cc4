import { after, before, describe, test } from 'node:test';
import { postgresPrograms } from '../../support/installed-postgres.ts';
import { noPreloadedClock } from '../../support/preloaded-clock.ts';
import { Random } from '../../support/random.ts';
import { REGIONS } from '../../support/region-processes.ts';
import { until } from '../../support/until.ts';
import { collect, Verifier } from '../collect.ts';
import { Nemesis } from '../nemesis.ts';
import { assertHolds, SECONDS, SEED } from '../run.ts';
import { LOSSES, ThreeRegions } from '../three-regions.ts';
import { Workload } from '../workload.ts';

const programs = postgresPrograms();
const skip = 'missing' in programs ? programs.missing : noPreloadedClock;
const SOME = 10;

describe('three regions, one on a synchronous standby of another', { skip }, () => {
  let three: ThreeRegions;
  let workload: Workload;
  let verifier: Verifier;

  before(async () => {
    three = await ThreeRegions.start('bin' in programs ? programs.bin : '');
    workload = new Workload(three.places(REGIONS), three.token, SEED);
    verifier = new Verifier(three.places(REGIONS), three.token);
    await workload.prepare();
  });
  after(async () => {
    await workload?.stop();
    await verifier?.stop();
    three?.close();
  });

  async function untilServed(): Promise<void> {
    const before = workload.acknowledged;
    await until('requests are acknowledged', () => workload.acknowledged > before + SOME);
  }

  test(`keep what they acknowledge, in order, audited and without alarm, from seed ${SEED}`, async (t) => {
    const loss = new Random(SEED).pick(LOSSES);
    t.diagnostic(`the primary region is lost by ${loss}`);
    workload.start();
    verifier.start();
    const first = new Nemesis(three.faults(['eu', 'ap']), SEED);
    await first.run(SECONDS / 2);
    await untilServed();
    const since = performance.now();
    first.begun.push({ at: since, text: `loss of eu by ${loss}`, kind: 'fail-over' });
    await three.failOver(loss);
    await untilServed();
    const second = new Nemesis(three.faults(REGIONS), SEED + 1);
    await second.run(SECONDS / 2);
    await untilServed();
    await workload.stop();
    await verifier.stop();
    const history = await collect(three.places(['us']), three.token, workload.operations, verifier);
    first.begun.push(...second.begun);
    const replaced = { place: 'eu', since, recorded: await three.recordedByEu() };
    assertHolds(t, 'regions', { ...history, replaced }, first);
  });
});
