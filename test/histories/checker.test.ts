import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { check, TAMPERING_ACTION } from './checker.ts';
import type { AuditEntry, Exchange, History, Operation, Replaced, Values, Verification } from './history.ts';

const REGISTER = 'r';

/** A made-up history of one register, whose first version is there when it begins. Operations are given with the times of their begin and end. */
class Invented {
  readonly operations: Operation[] = [];
  audit: AuditEntry[] = [];
  verifications: Verification[] = [{ place: 'a', valid: true, text: '' }];
  readonly finals = new Map<string, Values>();
  replaced: Replaced | undefined;

  constructor() {
    this.write(0, 1, 1);
  }

  #add(operation: Partial<Operation>, from: number, to: number, more: Partial<Exchange> = {}): Operation {
    const id = this.operations.length + 1;
    const { outcome = 'ok', version = null } = operation;
    const exchange = { place: 'a', status: 200, code: '', requestId: `req ${id}`, version, ...more };
    const made: Operation = {
      id,
      client: 1,
      register: REGISTER,
      kind: 'write',
      invokedAt: from,
      returnedAt: to,
      value: `value ${id}`,
      expected: null,
      exchanges: [exchange],
      ...operation,
      outcome,
      version,
    };
    this.operations.push(made);
    if (outcome === 'ok') this.record(made);
    return made;
  }

  record({ id, kind }: Operation, isReplay = false, requestId = `req ${id}`): void {
    const action = kind === 'read' ? 'secrets:read' : 'secrets:update';
    const seq = this.audit.length + 1;
    this.audit.push({ seq, requestId, action, decision: 'allow', register: REGISTER, isReplay });
  }

  write(from: number, to: number, version: number): Operation {
    return this.#add({ version }, from, to);
  }

  /** The value is that of the operation with this number. */
  read(from: number, to: number, version: number, of: number): Operation {
    return this.#add({ kind: 'read', version, value: `value ${of}` }, from, to);
  }

  swap(from: number, to: number, expected: number, version: number): Operation {
    return this.#add({ kind: 'compare-and-set', expected, version }, from, to);
  }

  refusedSwap(from: number, to: number, expected: number): Operation {
    return this.#add({ kind: 'compare-and-set', expected, outcome: 'failed' }, from, to, {
      status: 409,
      code: 'VERSION_CONFLICT',
    });
  }

  unknown(from: number, to: number): Operation {
    return this.#add({ outcome: 'unknown' }, from, to, { status: 0, requestId: '' });
  }

  failed(from: number, to: number): Operation {
    return this.#add({ outcome: 'failed' }, from, to, { status: 307 });
  }

  /** What is there in the end: the values of the operations with these numbers, in order. */
  endsAs(...operations: (number | null)[]): this {
    const values = operations.map((id) => (id === null ? null : `value ${id}`));
    for (const place of ['a', 'b']) this.finals.set(place, values);
    return this;
  }

  violations(): string[] {
    const { operations, audit, verifications, replaced } = this;
    const finals = new Map([[REGISTER, this.finals]]);
    const history: History = { operations, audit, verifications, finals, replaced };
    return check(history).map(({ kind, text }) => `${kind}: ${text}`);
  }

  assertFound(...expected: RegExp[]): void {
    const found = this.violations();
    assert.equal(found.length, expected.length, found.join('\n'));
    for (const [i, pattern] of expected.entries()) assert.match(String(found[i]), pattern);
  }
}

describe('a history in which nothing is wrong', () => {
  test('may have operations at the same time in any order', () => {
    const it = new Invented();
    it.write(10, 20, 3);
    it.write(12, 22, 2);
    it.read(11, 21, 1, 1);
    it.read(13, 19, 3, 2);
    it.endsAs(1, 3, 2).assertFound();
  });

  test('may have operations whose outcome is unknown, whether they took effect or not, also late', () => {
    const it = new Invented();
    it.unknown(10, 20);
    it.unknown(10, 20);
    const late = it.unknown(10, 20);
    it.write(30, 40, 2);
    it.record(late);
    it.endsAs(1, 5, 4).assertFound();
  });

  test('may have refusals of what had changed meanwhile, and repeats that return the first result', () => {
    const it = new Invented();
    it.swap(10, 20, 1, 2);
    it.refusedSwap(15, 25, 1);
    it.refusedSwap(30, 40, 1);
    const repeated = it.write(50, 60, 3);
    const again = { place: 'b', status: 200, code: '', requestId: 'again', version: 3 };
    it.operations.push({ ...(it.operations.pop() as Operation), exchanges: [...repeated.exchanges, again] });
    it.record(repeated, true, 'again');
    it.endsAs(1, 2, 5).assertFound();
  });
});

describe('what is found in a history', () => {
  test('lost: an acknowledged write is not there', () => {
    const it = new Invented();
    it.write(10, 20, 2);
    it.endsAs(1).assertFound(/^lost: operation 2, .* does not exist/, /^duplicated: r: 1 versions, 2 entries/);
  });

  test('lost: another value stands under its version', () => {
    const it = new Invented();
    it.write(10, 20, 2);
    const unknown = it.unknown(10, 20);
    it.record(unknown);
    it.audit.splice(1, 1, { ...(it.audit[1] as AuditEntry), action: 'other' });
    it.endsAs(1, 3).assertFound(/^lost: operation 2, /);
  });

  test('lost: a value that was read is not there', () => {
    const it = new Invented();
    const unknown = it.unknown(10, 20);
    it.read(10, 20, 2, unknown.id);
    it.endsAs(1).assertFound(/^lost: operation 3, a read/);
  });

  test('lost: a version cannot be read, or a register is gone', () => {
    const it = new Invented();
    it.write(10, 20, 2);
    it.endsAs(null, 2).assertFound(
      /^lost: r version 1 cannot be read in a/,
      /^lost: r version 1 cannot be read in b/,
      /^lost: operation 1, /,
    );
    const gone = { ...new Invented(), finals: new Map() };
    assert.deepEqual(
      check(gone).map(({ kind }) => kind),
      ['lost'],
    );
  });

  test('lost: numbers of the audit log are missing', () => {
    const it = new Invented();
    it.read(10, 20, 1, 1);
    it.audit[1] = { ...(it.audit[1] as AuditEntry), seq: 3 };
    it.endsAs(1).assertFound(/^lost: no audit entries between the numbers 1 and 3/);
  });

  test('stale: a read returns what was overwritten before it began', () => {
    const it = new Invented();
    it.write(10, 20, 2);
    it.read(21, 30, 1, 1);
    it.endsAs(1, 2).assertFound(/^stale: operation 3, a read, r version 1/);
  });

  test('stale: reads go back from what was read before', () => {
    const it = new Invented();
    const slow = it.write(10, 100, 2);
    it.read(20, 30, 2, slow.id);
    it.read(31, 40, 1, 1);
    it.endsAs(1, 2).assertFound(/^stale: operation 4, /);
  });

  test('stale: a compare-and-set is refused although nothing had changed', () => {
    const it = new Invented();
    it.refusedSwap(10, 20, 1);
    it.write(30, 40, 2);
    it.endsAs(1, 3).assertFound(/^stale: operation 2, .* was refused although version 1 was the newest/);
  });

  test('duplicated: a write took effect twice', () => {
    const it = new Invented();
    const twice = it.write(10, 20, 2);
    it.record(twice, false, 'another request');
    it.endsAs(1, 2, 2).assertFound(/^duplicated: r versions 2 and 3 are the same write/);
  });

  test('duplicated: a repeat under the same key was acknowledged as another version', () => {
    const it = new Invented();
    const repeated = it.write(10, 20, 2);
    it.write(12, 22, 3);
    const again = { place: 'b', status: 200, code: '', requestId: 'again', version: 3 };
    it.operations[1] = { ...repeated, exchanges: [...repeated.exchanges, again] };
    it.record(repeated, true, 'again');
    it.endsAs(1, 2, 3).assertFound(/^duplicated: operation 2, .* acknowledged as versions 2,3/);
  });

  test('duplicated: a request has two audit entries, or two entries have one number', () => {
    const it = new Invented();
    const read = it.read(10, 20, 1, 1);
    it.record(read);
    it.endsAs(1).assertFound(/^duplicated: operation 2, .* 2 entries for req 2/);
    it.audit[2] = { ...(it.audit[2] as AuditEntry), seq: 2, requestId: 'other' };
    it.assertFound(/^duplicated: two audit entries have the number 2/);
  });

  test('reordered: a write comes before one that had returned when it began', () => {
    const it = new Invented();
    it.write(10, 20, 3);
    it.write(21, 30, 2);
    it.endsAs(1, 3, 2).assertFound(/^reordered: operation 3, .* began after this had returned: operation 2/);
  });

  test('reordered: a write whose outcome is unknown took effect before it began', () => {
    const it = new Invented();
    it.write(10, 20, 3);
    const unknown = it.unknown(21, 30);
    it.record(unknown);
    it.endsAs(1, 3, 2).assertFound(/^reordered: operation 3, .* unknown/);
  });

  test('reordered: a compare-and-set replaced another version than it required', () => {
    const it = new Invented();
    it.write(10, 20, 2);
    it.swap(15, 25, 1, 3);
    it.endsAs(1, 2, 3).assertFound(/^reordered: operation 3, .* required version 1/);
  });

  test('reordered: two places have different versions', () => {
    const it = new Invented().endsAs(1);
    it.finals.set('b', ['value 1', 'value 1']);
    it.assertFound(/^reordered: r is not the same in a and b/);
  });

  test('invented: what failed took effect, and what nobody wrote is there', () => {
    const it = new Invented();
    const failed = it.failed(10, 20);
    it.record(failed);
    it.record(failed);
    it.endsAs(1, failed.id, 9).assertFound(/^invented: operation 2, .* version 2/, /^invented: r version 3/);
  });

  test('unaudited: an acknowledged request has no entry, or one that was never linked', () => {
    const it = new Invented();
    it.read(10, 20, 1, 1);
    it.read(10, 20, 1, 1);
    it.audit.splice(1, 1);
    it.audit[1] = { ...(it.audit[1] as AuditEntry), seq: null };
    it.endsAs(1).assertFound(/^unaudited: operation 2, .* no entry/, /^unaudited: operation 3, .* never linked/);
  });

  test('unaudited: only a refusal of an acknowledged request is recorded', () => {
    const it = new Invented();
    it.read(10, 20, 1, 1);
    it.audit[1] = { ...(it.audit[1] as AuditEntry), decision: 'deny' };
    it.endsAs(1).assertFound(/^unaudited: operation 2, /);
  });

  test('unaudited: a change whose outcome was unknown is there without an entry', () => {
    const it = new Invented();
    it.unknown(10, 20);
    it.endsAs(1, 2).assertFound(/^unaudited: r: 2 versions, 1 entries/);
  });

  test('false alarm: an entry speaks of tampering, or a verification is not valid', () => {
    const it = new Invented();
    const alarm = { action: TAMPERING_ACTION, decision: 'allow', requestId: '', register: null, isReplay: false };
    it.audit.push({ seq: 2, ...alarm });
    it.verifications.push({ place: 'b', valid: false, text: 'forged' });
    it.endsAs(1).assertFound(/^false alarm: the entry 2 /, /^false alarm: b verified .* forged/);
  });
});

describe('a region that was replaced', () => {
  /** It was lost after the second version, and another region makes a third one before it returns. */
  function replacedAt(version: number, recorded: readonly string[]): Invented {
    const it = new Invented();
    it.write(10, 20, 2);
    it.write(50, 60, 3);
    const read = it.read(70, 80, version, version);
    it.operations[3] = { ...read, exchanges: [{ ...(read.exchanges[0] as Exchange), place: 'former' }] };
    it.audit.pop();
    it.replaced = { place: 'former', since: 40, recorded: new Set(recorded) };
    return it.endsAs(1, 2, 3);
  }

  test('may serve its own copy, and records that in its own log', () => {
    replacedAt(2, ['req 4']).assertFound();
  });

  test('has recorded what it served, and lost nothing that was acknowledged before', () => {
    replacedAt(2, []).assertFound(/^unaudited: operation 4, /);
    replacedAt(1, ['req 4']).assertFound(/^stale: operation 4, .* version 2 was acknowledged before/);
  });

  test('acknowledges no changes', () => {
    const it = new Invented();
    const own = it.write(50, 60, 2);
    it.operations[1] = { ...own, exchanges: [{ ...(own.exchanges[0] as Exchange), place: 'former' }] };
    it.audit.pop();
    it.replaced = { place: 'former', since: 40, recorded: new Set(['req 2']) };
    it.endsAs(1).assertFound(/^lost: operation 2, /, /^unaudited: operation 2, /);
  });
});
