import { auditSize } from './audit-size.ts';
import { backups } from './backups.ts';
import { besideBare } from './beside-bare.ts';
import type { Settings } from './cases.ts';
import { commandLine } from './command-line.ts';
import { connections } from './connections.ts';
import { encryption } from './encryption.ts';
import { exporters } from './exporters.ts';
import { fairness } from './fairness.ts';
import { fleet } from './fleet.ts';
import { footprint } from './footprint.ts';
import { growth } from './growth.ts';
import { guard } from './guard.ts';
import type { Installations } from './installation.ts';
import { machines } from './machines.ts';
import { nodes } from './nodes.ts';
import type { Table } from './report.ts';
import { scan } from './scan.ts';
import { workers } from './workers.ts';

export interface Part {
  name: string;
  about: string;
  /** Roughly, on two cores that have nothing else to do. */
  minutes: number;
  /** Runs only if it is named. */
  isExtra?: boolean;
  run(installations: Installations, settings: Settings): Promise<Table[]>;
}

/** The quick ones first: who watches sees something soon. Growth and footprint share the large installations. */
export const PARTS: Part[] = [
  {
    name: 'reads',
    about: '/auth/me, a secret, a list and an aggregate, at each number of connections, beside bare node:http',
    minutes: 4,
    run: (...given) => besideBare('Reads', ['me', 'secret', 'list', 'aggregate'], ...given),
  },
  {
    name: 'writes',
    about: 'writing a secret and encrypting, in the same way',
    minutes: 2.5,
    run: (...given) => besideBare('Writes and encryption', ['write', 'encrypt'], ...given),
  },
  { name: 'nodes', about: 'one and two processes on one PostgreSQL', minutes: 2, run: nodes },
  {
    name: 'connections',
    about: 'new connections with and without TLS, and HTTP/2 beside HTTP/1.1',
    minutes: 2,
    run: connections,
  },
  { name: 'workers', about: 'one, two and four workers of one command', minutes: 6, run: workers },
  {
    name: 'logins',
    about: 'by password, and of workloads',
    minutes: 1.5,
    // Only when it is needed: it brings an OpenID provider, which has things to say when it is loaded.
    run: async (...given) => (await import('./logins.ts')).logins(...given),
  },
  { name: 'machines', about: 'a secret read with each way of proving who asks', minutes: 1, run: machines },
  { name: 'fairness', about: 'a quiet tenant alone, and beside each kind of noisy one', minutes: 2, run: fairness },
  { name: 'fleet', about: 'reports of 1,000 hosts, and the desired state of 1,000 secrets', minutes: 3, run: fleet },
  { name: 'encryption', about: 'texts of several sizes, batches, post-quantum', minutes: 3.5, run: encryption },
  { name: 'scan', about: 'a scan for anomalies over 1,000,000 reads of 10,000 secrets', minutes: 8, run: scan },
  {
    name: 'exporters',
    about: 'what three exporters cost those who read, and how fast each type delivers 100,000 entries',
    minutes: 4,
    run: exporters,
  },
  { name: 'backups', about: 'full and incremental backups beside 200,000 audit entries', minutes: 3, run: backups },
  {
    name: 'audit-size',
    about: 'what the audit log of slow reads takes on disk, before and after compaction',
    minutes: 3,
    run: auditSize,
  },
  {
    name: 'command-line',
    about: 'what a command costs beside Node itself, and what coffer run adds',
    minutes: 1,
    run: commandLine,
  },
  { name: 'growth', about: 'the same requests to 8,000 and to 1,000,000 secrets', minutes: 8, run: growth },
  {
    name: 'guard',
    about:
      'fails if a request takes a tenth more processor time than in the checkout of --beside, such as the last release',
    minutes: 8,
    isExtra: true,
    run: guard,
  },
  { name: 'footprint', about: 'start-up, memory, room on disk, small and large', minutes: 2, run: footprint },
];
