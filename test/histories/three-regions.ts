import { query } from '../support/postgres.ts';
import { envOfClocks, PreloadedClock } from '../support/preloaded-clock.ts';
import type { DatabaseProxy } from '../support/proxy.ts';
import type { Random } from '../support/random.ts';
import { REGIONS } from '../support/region-processes.ts';
import { StandbyRegions } from '../support/standby-regions.ts';
import { until } from '../support/until.ts';
import { delay, type End, lose, stop } from './faults.ts';
import type { FaultKind } from './nemesis.ts';
import type { Place } from './workload.ts';

const REQUEST_ID = /\breq_[0-9a-z]{26}\b/g;
const SHORT = { min: 1, max: 8 };
const SECOND_MS = 1000;
/** Other regions refuse what one says whose clock is more than a minute ahead, until that time has come, so none is. */
const CLOCK_OFFSETS_SECONDS = [-300, -20, 20];

/** How a primary region is lost: with its machine and its database, or so that it goes on in some way and comes back. */
export const LOSSES = ['kill', 'partition', 'stop', 'suspension'] as const;
export type Loss = (typeof LOSSES)[number];

/** The clocks of a region: one that can be set, and one that does not count while its machine is suspended. */
class Clocks {
  readonly #wall = new PreloadedClock('wall-clock');
  readonly #monotonic = new PreloadedClock('suspended-clock');
  #suspendedMs = 0;

  get env(): Record<string, string> {
    return envOfClocks(this.#wall, this.#monotonic);
  }

  setWrong(ms: number): End {
    this.#wall.set(ms);
    return async () => this.#wall.set(0);
  }

  suspend(pid: number): End {
    const suspendedAt = performance.now();
    const resume = stop([pid]);
    return async () => {
      this.#suspendedMs += performance.now() - suspendedAt;
      this.#monotonic.set(this.#suspendedMs);
      await resume();
    };
  }
}

/** Three regions, what can happen to them, and the loss of the primary one. */
export class ThreeRegions {
  readonly #regions: StandbyRegions;
  readonly #clocks: ReadonlyMap<string, Clocks>;

  private constructor(regions: StandbyRegions, clocks: ReadonlyMap<string, Clocks>) {
    this.#regions = regions;
    this.#clocks = clocks;
  }

  static async start(bin: string): Promise<ThreeRegions> {
    const clocks = new Map(REGIONS.map((name) => [name, new Clocks()]));
    const regions = await StandbyRegions.start(bin, (name) => clocks.get(name)?.env ?? {});
    return new ThreeRegions(regions, clocks);
  }

  #clocksOf(name: string): Clocks {
    const clocks = this.#clocks.get(name);
    if (clocks === undefined) throw new Error(`there is no region ${name}`);
    return clocks;
  }

  get token(): string {
    return this.#regions.tenant.owner.token;
  }

  places(names: readonly string[]): Place[] {
    return names.map((name) => ({ name, url: () => this.#regions.processes.url(name) }));
  }

  close(): void {
    this.#regions.processes.close();
  }

  faults(names: readonly string[]): FaultKind[] {
    const { processes } = this.#regions;
    const of = (name: string, begin: (target: string, random: Random) => End | Promise<End>): FaultKind => ({
      name,
      seconds: SHORT,
      targets: names,
      begin: async (target, random) => begin(target, random),
    });
    return [
      of('kill', (name) => this.#kill(name)),
      of('stop', (name) => stop([processes.process(name).pid])),
      of('suspension', (name) => this.#clocksOf(name).suspend(processes.process(name).pid)),
      of('cut from all others', (name) => this.#cut(name)),
      of('cut in one direction', (name, random) => this.#cutOneWay(name, random.pick(othersOf(name)))),
      of('loss of requests', (name) => lose(this.#linksOf(name), 'to server')),
      of('loss of responses', (name) => lose(this.#linksOf(name), 'to client')),
      of('late delivery', (name) => delay(this.#linksOf(name))),
      of('wrong clock', (name, random) =>
        this.#clocksOf(name).setWrong(random.pick(CLOCK_OFFSETS_SECONDS) * SECOND_MS),
      ),
    ];
  }

  /** By which a region calls the others. */
  #linksOf(name: string): DatabaseProxy[] {
    return othersOf(name).map((other) => this.#regions.processes.network.link(name, other));
  }

  async #kill(name: string): Promise<End> {
    await this.#regions.processes.kill(name);
    return () => this.#startAgain(name);
  }

  #startAgain(name: string): Promise<void> {
    return this.#regions.processes.start(name, this.#clocksOf(name).env);
  }

  #cut(name: string): End {
    const { network } = this.#regions.processes;
    network.setConnected(name, false);
    return async () => network.setConnected(name, true);
  }

  #cutOneWay(from: string, to: string): End {
    const { network } = this.#regions.processes;
    network.setLink(from, to, false);
    return async () => network.setLink(from, to, true);
  }

  /** The primary region is lost in some way, `us` takes over, and the former one comes back. */
  async failOver(loss: Loss): Promise<void> {
    const comesBack = await this.#lose(loss);
    await this.#regions.startStandby(this.#clocksOf('us').env);
    await this.#regions.promote();
    await until('us serves', async () => (await this.#stateOf('us')) === 'active');
    await comesBack();
    await until('eu knows the new primary region', async () => (await this.#regions.regionOf('eu')).region === 'us');
  }

  /** The requests in the log of `eu` itself, which forwards readers of the log to the region that replaced it. */
  async recordedByEu(): Promise<Set<string>> {
    const rows = await query(this.#regions.database('eu').url, 'select entries from audit_segments');
    return new Set(rows.flatMap(({ entries }) => String(entries).match(REQUEST_ID) ?? []));
  }

  async #stateOf(name: string): Promise<string> {
    return (await this.#regions.regionOf(name)).state;
  }

  async #lose(loss: Loss): Promise<End> {
    const { processes } = this.#regions;
    const { pid } = processes.process('eu');
    this.#regions.setReplicating(false);
    if (loss === 'kill') {
      await Promise.all([processes.kill('eu'), this.#regions.database('eu').kill()]);
      return async () => {
        // Its standby is gone, so it must not wait for one.
        await this.#regions.database('eu').start({ synchronous_standby_names: '' });
        await this.#startAgain('eu');
      };
    }
    const reconnect = this.#cut('eu');
    const resume = loss === 'partition' ? async () => {} : this.#pause(loss, pid);
    return async () => {
      await this.#regions.endReplication();
      await resume();
      await reconnect();
    };
  }

  #pause(loss: 'stop' | 'suspension', pid: number): End {
    return loss === 'stop' ? stop([pid]) : this.#clocksOf('eu').suspend(pid);
  }
}

function othersOf(name: string): string[] {
  return REGIONS.filter((other) => other !== name);
}
