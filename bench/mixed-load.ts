import { pathOf, vaultOf } from './data-set.ts';
import type { Installation } from './installation.ts';
import { getRequest, getRequestFrom, type Load, probe, run, writeRequest } from './load.ts';
import { addressOf, passwordLogins } from './password-logins.ts';
import { requestOf } from './requests.ts';
import type { Window } from './sampling.ts';
import type { Soaked } from './soak-report.ts';

export interface Kind {
  name: string;
  request: Load['request'];
  connections: number;
  /** What each connection waits after an answer: the load is steady, and leaves time to see whether answers get slower. */
  pauseMs: number;
  expected: number[];
  /** Too slow by intention to say anything about the rest. */
  isApart?: boolean;
}

const NEW_CONNECTION_EVERY_MS = 50;

type Tally = Pick<Soaked, 'answers' | 'unexpected'>;

/** Everything at once for some time: reads, writes, lists, encryption, logins, refusals, and clients that come and go. */
export async function mixedLoad(
  installation: Installation,
  kinds: Kind[],
  seconds: number,
  window: Window,
): Promise<Tally> {
  const { port } = installation;
  const tally: Tally = { answers: {}, unexpected: {} };
  const count = (counts: Record<string, number>, name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const seen = ({ name, expected }: Pick<Kind, 'name' | 'expected'>, status: number) => {
    count(tally.answers, name);
    if (!expected.includes(status)) count(tally.unexpected, `${name}: ${status}`);
  };
  const drive = (kind: Kind) =>
    run({ port, seconds, ...kind }, (ms, status) => {
      if (kind.isApart !== true) window.add(ms);
      seen(kind, status);
    });
  const until = performance.now() + seconds * 1000;
  const comeAndGo = async () => {
    const request = getRequest('/auth/me', installation.token);
    while (performance.now() < until) {
      seen({ name: 'new connection', expected: [200] }, (await probe(port, request)).status);
      await new Promise((resolve) => setTimeout(resolve, NEW_CONNECTION_EVERY_MS));
    }
  };
  await Promise.all([...kinds.map(drive), comeAndGo()]);
  return tally;
}

/** What there is to ask; whatever that needs is made first. */
export async function kindsOf(installation: Installation): Promise<Kind[]> {
  const { token } = installation;
  const vault = `/v1/vaults/${vaultOf(0)}`;
  let strangers = 0;
  // Each stranger from somewhere else: from one place they would soon be refused unread.
  const stranger = () => getRequestFrom(addressOf(++strangers), '/auth/me', `unknown-${strangers}`);
  return [
    { name: 'read', request: await requestOf('secret', installation), connections: 12, pauseMs: 10, expected: [200] },
    { name: 'write', request: await requestOf('write', installation), connections: 2, pauseMs: 20, expected: [200] },
    { name: 'list', request: await requestOf('list', installation), connections: 2, pauseMs: 100, expected: [200] },
    {
      name: 'encrypt',
      request: await requestOf('encrypt', installation),
      connections: 3,
      pauseMs: 20,
      expected: [200],
    },
    { name: 'stranger', request: stranger, connections: 1, pauseMs: 40, expected: [401] },
    {
      name: 'no such secret',
      request: getRequest(`${vault}/secrets/nothing/here`, token),
      connections: 1,
      pauseMs: 40,
      expected: [404],
    },
    {
      name: 'malformed write',
      request: writeRequest('PUT', `${vault}/secrets/${pathOf(0)}`, token, { value: 1 }),
      connections: 1,
      pauseMs: 40,
      expected: [422],
    },
    {
      name: 'login',
      request: await passwordLogins(installation),
      connections: 1,
      pauseMs: 2000,
      expected: [200],
      isApart: true,
    },
  ];
}
