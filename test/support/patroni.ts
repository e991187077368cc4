import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after } from 'node:test';
import { installed, serverUser } from './debian.ts';
import { freePort } from './ports.ts';
import { query } from './postgres.ts';
import { DatabaseProxy } from './proxy.ts';
import { until } from './until.ts';

/** How long Patroni may take to elect a leader or to rebuild a member, on a slow machine. */
export const ELECTION_MS = 180_000;
/** Short, so that the test is; an installation has longer ones. */
const TIMING = { ttl: 10, loop_wait: 2, retry_timeout: 4 };

export interface PatroniPrograms {
  patroni: string;
  etcd: string;
  /** The folder of PostgreSQL's programs. */
  bin: string;
}

export function patroniPrograms(): PatroniPrograms | { missing: string } {
  const found = installed(['patroni', 'python3-etcd', 'etcd-server', 'postgresql-15', 'postgresql-client-15'], {
    patroni: '/usr/bin/patroni',
    etcd: '/usr/bin/etcd',
    postgres: '/usr/lib/postgresql/*/bin/postgres',
  });
  if ('missing' in found) return found;
  const { patroni = '', etcd = '', postgres = '' } = found.paths;
  return { patroni, etcd, bin: dirname(postgres) };
}

interface Member {
  name: string;
  folder: string;
  port: number;
  restPort: number;
  /** The ways to and from it, all of which a partition cuts: to its database, to its Patroni, and from that to etcd. */
  database: DatabaseProxy;
  rest: DatabaseProxy;
  etcd: DatabaseProxy;
  process: ChildProcess | null;
}

const clusters = new Set<PatroniCluster>();
after(async () => {
  for (const cluster of clusters) await cluster.remove();
});

/** A cluster of PostgreSQL servers that Patroni keeps, with synchronous replication, on loopback and in temporary folders. */
export class PatroniCluster {
  readonly #programs: PatroniPrograms;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coffer-patroni-'));
  readonly #user = serverUser();
  readonly #members: Member[] = [];
  #etcd: ChildProcess | null = null;
  #etcdPort = 0;

  constructor(programs: PatroniPrograms) {
    this.#programs = programs;
    clusters.add(this);
    this.#own(this.#folder);
  }

  #own(folder: string): void {
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
    chmodSync(folder, 0o700);
  }

  async start(count: number): Promise<void> {
    this.#etcdPort = await freePort();
    const peer = `http://127.0.0.1:${await freePort()}`;
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const addresses = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer];
    const cluster = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`];
    const data = ['--data-dir', join(this.#folder, 'etcd')];
    this.#etcd = this.#spawn(this.#programs.etcd, [...addresses, ...cluster, ...data]);
    for (let n = 1; n <= count; n++) await this.#add(`m${n}`);
    for (const member of this.#members) this.startMember(member.name);
    await this.untilWhole();
  }

  async #add(name: string): Promise<void> {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    this.#own(folder);
    const [port, restPort] = [await freePort(), await freePort()];
    const before = (to: number) => DatabaseProxy.before(`tcp://127.0.0.1:${to}`);
    const [database, rest, etcd] = [await before(port), await before(restPort), await before(this.#etcdPort)];
    const member = { name, folder, port, restPort, database, rest, etcd, process: null };
    this.#members.push(member);
    writeFileSync(join(folder, 'patroni.yml'), JSON.stringify(this.#settings(member)));
    this.#own(join(folder));
    chmodSync(join(folder, 'patroni.yml'), 0o644);
  }

  /** JSON is YAML too. */
  #settings({ name, folder, port, restPort, database, rest, etcd }: Member): object {
    const login = { username: 'coffer', password: 'coffer' };
    return {
      scope: 'coffer',
      name,
      restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${rest.port}` },
      // Otherwise Patroni would learn etcd's own address, and pass the proxy by.
      etcd3: { hosts: [`127.0.0.1:${etcd.port}`], use_proxies: true },
      bootstrap: {
        dcs: {
          ...TIMING,
          synchronous_mode: true,
          postgresql: {
            use_pg_rewind: true,
            parameters: { max_connections: 100, wal_receiver_timeout: '5s', wal_sender_timeout: '5s' },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
        pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 scram-sha-256', HBA_REPLICATION],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${database.port}`,
        data_dir: join(folder, 'data'),
        bin_dir: this.#programs.bin,
        pgpass: join(folder, 'pgpass'),
        authentication: { superuser: login, replication: login, rewind: login },
        parameters: { unix_socket_directories: folder, password_encryption: 'scram-sha-256' },
      },
    };
  }

  #spawn(program: string, args: string[]): ChildProcess {
    const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', HOME: this.#folder, ETCD_UNSUPPORTED_ARCH: process.arch };
    const log = openSync(join(this.#folder, `${basename(program)}.log`), 'a');
    return spawn(program, args, { ...this.#user, cwd: this.#folder, stdio: ['ignore', log, log], env });
  }

  startMember(name: string): void {
    const member = this.#member(name);
    member.process = this.#spawn(this.#programs.patroni, [join(member.folder, 'patroni.yml')]);
  }

  #member(name: string): Member {
    const member = this.#members.find((one) => one.name === name);
    if (member === undefined) throw new Error(`there is no member ${name}`);
    return member;
  }

  /** As a service uses it: all servers, of which one accepts writes. */
  get url(): string {
    const hosts = this.#members.map(({ database }) => `127.0.0.1:${database.port}`).join(',');
    return `postgres://coffer:coffer@${hosts}/postgres?target_session_attrs=read-write`;
  }

  /** The members that accept writes, and what each knows of its standbys. Those that do not answer are left out. */
  async leaders(): Promise<{ name: string; streaming: number; synchronous: number }[]> {
    const sql = `select pg_is_in_recovery() as is_standby,
      (select count(*)::integer from pg_stat_replication where state = 'streaming') as streaming,
      (select count(*)::integer from pg_stat_replication where sync_state = 'sync') as synchronous`;
    const found: { name: string; streaming: number; synchronous: number }[] = [];
    for (const { name, database, port } of this.#members) {
      if (database.weather.kind === 'silent') continue;
      const rows = await query(`postgres://coffer:coffer@127.0.0.1:${port}/postgres`, sql).catch(() => []);
      const { is_standby, streaming, synchronous } = rows[0] ?? {};
      if (is_standby === false) found.push({ name, streaming: Number(streaming), synchronous: Number(synchronous) });
    }
    return found;
  }

  async leader(): Promise<string> {
    let name = '';
    await until(
      'the cluster has a leader',
      async () => {
        const leaders = await this.leaders();
        name = leaders.length === 1 ? (leaders[0]?.name ?? '') : '';
        return name !== '';
      },
      ELECTION_MS,
    );
    return name;
  }

  /** One leader, all others follow it, and one of them confirms its commits and may take over. */
  async untilWhole(): Promise<void> {
    const isWhole = async () => {
      const leaders = await this.leaders();
      const [leader] = leaders;
      if (leaders.length !== 1 || leader?.streaming !== this.#members.length - 1) return false;
      // PostgreSQL knows its synchronous standby a little before etcd does, and only the one that etcd names is elected.
      const answer = await fetch(`http://127.0.0.1:${this.#member(leader.name).restPort}/cluster`).catch(() => null);
      const { members = [] } = ((await answer?.json()) ?? {}) as { members?: { role: string }[] };
      return leader.synchronous === 1 && members.filter(({ role }) => role === 'sync_standby').length === 1;
    };
    await until('all members follow one leader', isWhole, ELECTION_MS);
  }

  /** Kills a member as the loss of its machine does. */
  async killMember(name: string): Promise<void> {
    const member = this.#member(name);
    await end(member.process);
    member.process = null;
    killServer(member);
  }

  /** From now on nothing gets to this member or away from it, and nobody is told; or everything does again. */
  setConnected(name: string, isConnected: boolean): void {
    const { database, rest, etcd } = this.#member(name);
    for (const proxy of [database, rest, etcd]) {
      proxy.weather = isConnected ? { kind: 'clear' } : { kind: 'silent' };
      if (isConnected) proxy.reset();
      else proxy.silence();
    }
  }

  async remove(): Promise<void> {
    clusters.delete(this);
    for (const member of this.#members) {
      await end(member.process);
      killServer(member);
    }
    await end(this.#etcd);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

const HBA_REPLICATION = 'host replication all 127.0.0.1/32 scram-sha-256';

async function end(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** Patroni's server is no child of ours; its own file says which process it is. */
function killServer({ folder }: Member): void {
  try {
    const [pid] = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 'SIGKILL');
  } catch (error) {
    // No file, or no such process: it does not run.
    if (!['ENOENT', 'ESRCH'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
