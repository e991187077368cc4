import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import { TURN_MS_MAX } from '../../server/src/kernel/observability/turn-monitor.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { type Input, type MakeInput, nameOf, pathOf, TAKES_PROOF, type World } from '../support/endpoint-inputs.ts';
import { makersOf } from '../support/isolation.ts';
import { largestInput } from '../support/largest-input.ts';
import {
  MACHINE_CALLERS_ENV,
  type MachineCallerKind,
  type MachineCallers,
  makeMachineCallers,
} from '../support/machine-callers.ts';
import { addPerson, addTenant, ok, openSession, type Person } from '../support/people.ts';
import { SendingThread } from '../support/sending-thread.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { aboutTheFullest, attachFullestPolicies, fillTenant, WORST_INPUTS } from '../support/worst-inputs.ts';

/**
 * Each endpoint gets the worst that it must handle: the largest body, the longest texts, a tenant with many rows, from somebody with the fullest
 * policies. No turn of the event loop may take longer than allowed, in processor time. What is refused counts as well.
 */

/**
 * A collection of garbage, which may be due to any request before, is part of a turn, and so is what a job does meanwhile. Neither comes each time, so
 * an endpoint fails only if it took too long each time. Garbage that the test made is collected before the second and third.
 */
const TRIES = 3;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Endpoints that still take too long, with the reason. An entry that is not needed any more fails. */
const TOO_LONG: Record<string, string> = {};

/** As whom machines' endpoints are called. */
const MACHINES: readonly MachineCallerKind[] = ['headers', 'cluster', 'scim'];
const CREDENTIAL_OF: Partial<Record<MachineCallerKind, string>> = {
  headers: 'connection',
  cluster: 'cluster',
  scim: 'scim',
};

interface Measured {
  ms: number;
  by: string;
}

onBothDatabases('the worst input of each endpoint', (database) => {
  let service: Service;
  let world: World;
  let sender: Person;
  let machines: MachineCallers;
  let fullest: Record<string, string>;
  const thread = new SendingThread();

  before(async () => {
    service = await startService(database, { env: MACHINE_CALLERS_ENV });
    // Second factors that a call used up are put back in the database itself.
    service.expectErrorLogs(/fails verification/);
    const tenant = await addTenant(service);
    const owner = await addPerson(service, { role: 'owner' });
    world = { service, tenant, owner };
    sender = await addPerson(service, { role: 'owner' });
    assert.ok((await attachFullestPolicies(world, sender)) > 0, 'the fullest policies are attached');
    const { tenant: own } = await ok(service.call('GET', '/auth/me'));
    fullest = await fillTenant(world, own.id, service.adminToken);
    machines = await makeMachineCallers({ ...world, service: thread.callingBy(service) });
  });
  after(async () => {
    machines?.close();
    await thread.close();
    await service.close();
  });

  /** Nobody may have many requests waiting, and every change that takes two people leaves one. */
  async function withdrawAll(): Promise<void> {
    for (const token of [service.adminToken, sender.token]) {
      const { approvals } = await ok(service.call('GET', '/approvals?status=pending&limit=1000', { token }));
      for (const { id } of approvals) await service.call('POST', `/approvals/${id}/reject`, { token, body: {} });
    }
  }

  async function credentialFor(declaration: EndpointDeclaration): Promise<string> {
    const isForToken = declaration.credentials === 'public' || declaration.credentials.includes('pat');
    const takesSession = !isForToken || TAKES_PROOF.has(declaration.name);
    return takesSession ? openSession(service, sender.id, { isFactorShown: true }) : sender.token;
  }

  /** Returns the longest turn. */
  async function sendTimed(declaration: EndpointDeclaration, input: Input): Promise<number> {
    const { method, credentials } = declaration;
    const { body } = input;
    const isFor = (kind: MachineCallerKind) => credentials.includes(CREDENTIAL_OF[kind] as never);
    const machine = credentials === 'public' || credentials.includes('pat') ? undefined : MACHINES.find(isFor);
    if (machine !== undefined) {
      const { own, call } = machines[machine];
      const path = pathOf(declaration, { ...input, params: { ...input.params, ...own } });
      return untilAccepted(declaration, () => call(method, path, body));
    }
    const token = await credentialFor(declaration);
    const options = { token, ...(body !== undefined && { body }) };
    return untilAccepted(declaration, () => thread.call(service, method, pathOf(declaration, input), options));
  }

  /** Waits out a limit. The clock is moved no more than is needed, because jobs become due by it. */
  async function untilAccepted(declaration: EndpointDeclaration, act: () => Promise<Answer>): Promise<number> {
    thread.longestMs = 0;
    let { status, text } = await act();
    if (status === 429) {
      service.clock.advance(MINUTE_MS);
      thread.longestMs = 0;
      ({ status, text } = await act());
    }
    assert.ok(status !== 500 && status !== 429, `${nameOf(declaration)} answered ${status}: ${text.slice(0, 300)}`);
    return thread.longestMs;
  }

  const largest = (make: MakeInput, declaration: EndpointDeclaration, isEveryField: boolean): MakeInput => {
    const growth = isEveryField ? { isEveryField, filler: '\u0001' } : {};
    return async (world, sender) => largestInput(declaration, await make(world, sender), growth);
  };

  /** By name, how inputs of an endpoint are made. */
  function worstOf(declaration: EndpointDeclaration): [string, MakeInput][] {
    const [usual = async () => ({})] = makersOf(declaration);
    const reading: MakeInput = async (world, sender) => {
      const input = await usual(world, sender);
      return aboutTheFullest(declaration, input, fullest) ?? input;
    };
    const handMade = WORST_INPUTS[nameOf(declaration)] ?? [];
    return [
      ['usual', usual],
      ['about the fullest', largest(reading, declaration, false)],
      ['every field', largest(reading, declaration, true)],
      ...handMade.map((make, no): [string, MakeInput] => [`hand-made ${no + 1}`, make]),
    ];
  }

  async function measure(declaration: EndpointDeclaration, isRepeated = false): Promise<Measured> {
    const longest: Measured = { ms: 0, by: '' };
    // Failed authentications and what inputs are made by are limited by the minute.
    service.clock.advance(MINUTE_MS);
    for (const [by, make] of worstOf(declaration)) {
      const input = await make(world, { isKnown: true, person: sender });
      if (isRepeated) collectGarbage();
      const ms = await sendTimed(declaration, input);
      if (ms > longest.ms) Object.assign(longest, { ms, by });
    }
    return longest;
  }

  test('a turn that is too long is noticed', async () => {
    const answer = thread.call(service, 'GET', '/health', { token: null });
    const until = process.threadCpuUsage().user + 3 * TURN_MS_MAX * 1000;
    while (process.threadCpuUsage().user < until);
    assert.ok((await answer).turnMs > TURN_MS_MAX);
  });

  for (const declaration of DECLARATIONS) {
    test(nameOf(declaration), async (context: TestContext) => {
      await withdrawAll();
      // Not measured: code that is not compiled yet takes longer.
      await measure(declaration);
      const tries: Measured[] = [];
      while (tries.length < TRIES && (tries.at(-1)?.ms ?? TURN_MS_MAX) >= TURN_MS_MAX)
        tries.push(await measure(declaration, tries.length > 0));
      const told = tries.map(({ ms, by }) => `${ms.toFixed(1)} ms (${by})`).join(', ');
      context.diagnostic(`turns of ${nameOf(declaration)}: ${told}`);
      const isTooLong = tries.length === TRIES && tries.every(({ ms }) => ms >= TURN_MS_MAX);
      const reason = TOO_LONG[nameOf(declaration)];
      if (reason === undefined) assert.ok(!isTooLong, told);
      else assert.ok(isTooLong, `${told}: delete its entry in TOO_LONG`);
    });
  }
});
