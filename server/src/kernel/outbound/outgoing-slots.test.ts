import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutgoingSlots } from './outgoing-slots.ts';

/** Takes as many slots as a tenant gets, at hosts that differ unless one is named. */
function takeAll(slots: OutgoingSlots, owner: string, host?: string): (() => void)[] {
  const entered: (() => void)[] = [];
  for (;;) {
    const leave = slots.enter(owner, host ?? `${owner}-${entered.length}`);
    if (leave === null) return entered;
    entered.push(leave);
  }
}

test('tenants that hold all they get leave some to others, at one host and in total', () => {
  for (const host of ['shared', undefined]) {
    const slots = new OutgoingSlots();
    const held = Array.from({ length: 16 }, (_, i) => takeAll(slots, `tenant-${i}`, host));
    const counts = held.map((entered) => entered.length);
    assert.equal(counts[0], host === undefined ? 64 : 32);
    assert.ok(
      counts.every((count, i) => count >= 1 && count <= Number(counts[Math.max(0, i - 1)])),
      counts.join(),
    );
    assert.notEqual(slots.enter('another', host ?? 'elsewhere'), null);
    for (const leave of held.flat()) leave();
    assert.equal(takeAll(slots, 'tenant-0', host).length, counts[0], 'what is left is free again');
  }
});

test('a slot is freed once', () => {
  const slots = new OutgoingSlots();
  const [first] = takeAll(slots, 'tenant', 'host');
  first?.();
  first?.();
  assert.equal(takeAll(slots, 'tenant', 'host').length, 1);
});
