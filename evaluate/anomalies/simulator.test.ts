import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attacksOn } from './attacks.ts';
import { type Company, foundCompany, isWorkday, resourcesOf } from './company.ts';
import { score } from './scoring.ts';
import { type Access, DAY, HOUR, usualAccesses } from './traffic.ts';

const DAYS = 60;
const company = foundCompany(1, DAYS);
const usual = Array.from({ length: DAYS }, (_, day) => usualAccesses(company, day));
const people = (accesses: readonly Access[]) => accesses.filter(({ actor }) => actor.kind === 'user');
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

test('a company has 200 principals and 5,000 secrets', () => {
  assert.equal(company.people.length + company.programs.length, 200);
  assert.equal(new Set(company.vaults.flatMap(resourcesOf)).size, 5000);
  const known = new Set(company.vaults.flatMap(resourcesOf));
  for (const { resource } of usual.flat()) assert.ok(known.has(resource), resource);
});

test('the same seed gives the same company, and another seed another one', () => {
  const again: Company = foundCompany(1, DAYS);
  assert.deepEqual(usualAccesses(again, 17), usual[17]);
  assert.deepEqual(attacksOn(again), attacksOn(company));
  assert.notDeepEqual(usualAccesses(foundCompany(2, DAYS), 17), usual[17]);
});

test('accesses are in the order of time, within their day', () => {
  for (const [day, accesses] of usual.entries()) {
    const times = accesses.map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok(times.every((at) => Math.floor(at / DAY) === day));
  }
});

test('people work on workdays and by day; programs read at all times', () => {
  const reads = usual.map((accesses) => people(accesses).length);
  const [worked, free] = [true, false].map((works) => reads.filter((_, day) => isWorkday(company, day) === works));
  assert.ok(Math.min(...(worked ?? [])) > 300, String(worked));
  assert.ok(Math.max(...(free ?? [])) < 60, String(free));
  const nights = people(usual.flat()).filter(({ at }) => at % DAY < 6 * HOUR);
  assert.ok(nights.length < 0.03 * people(usual.flat()).length);
  for (const accesses of usual) assert.ok(accesses.length - people(accesses).length > 1000);
});

test('holidays, rotation days and new hires show', () => {
  for (const day of company.holidays) assert.ok(people(usual[day] ?? []).length < 60);
  for (const [day, vault] of company.rotationDays) {
    const read = new Set(
      usual[day]?.filter(({ actor }) => actor.name === 'rotation-0').map(({ resource }) => resource),
    );
    assert.deepEqual([...read].sort(), resourcesOf(vault).sort());
  }
  const hired = company.people.filter(({ fromDay }) => fromDay > 0);
  assert.equal(hired.length, 6);
  for (const { name, fromDay } of hired) {
    const by = (accesses: readonly Access[]) => accesses.filter(({ actor }) => actor.name === name);
    assert.equal(sum(usual.slice(0, fromDay).map((accesses) => by(accesses).length)), 0);
    assert.ok(sum(usual.slice(fromDay).map((accesses) => by(accesses).length)) > 0);
  }
});

test('attacks are labelled with what they do, after weeks of history', () => {
  const attacks = attacksOn(company);
  assert.equal(attacks.length, 14);
  assert.equal(new Set(attacks.map(({ kind }) => kind)).size, 7);
  for (const { kind, from, to, actor, accesses, members, resources } of attacks) {
    assert.ok(to < (DAYS + 1) * DAY, kind);
    if (kind === 'creeping_membership') {
      assert.equal(members.length, 14);
      continue;
    }
    assert.ok(from > 30 * DAY && accesses.length > 0, kind);
    for (const access of accesses) {
      assert.ok(access.at >= from && access.at <= to);
      assert.equal(access.actor.name, actor);
      assert.ok(resources.has(access.resource));
    }
  }
});

test('a score counts attacks that were noticed in time, and alarms about nothing', () => {
  const attacks = attacksOn(company);
  const burst = attacks.find(({ kind }) => kind === 'burst');
  const revived = attacks.find(({ kind }) => kind === 'dormant_revived');
  assert.ok(burst !== undefined && revived !== undefined);
  const [resource = ''] = burst.resources;
  const alarms = [
    { type: 'unusual_access_pattern', resource, at: burst.to + 6 * HOUR },
    { type: 'unusual_access_pattern', resource, at: burst.from - DAY },
    { type: 'unusual_access_pattern', resource, at: burst.to + 3 * DAY },
    { type: 'ip_region_anomaly', resource: revived.actor, at: revived.from + 2 * HOUR },
  ].map((alarm) => ({ ...alarm, isRepeat: false }));
  const found = score([burst, revived], alarms, 4);
  assert.equal(found.recall, 1);
  assert.equal(found.precision, 0.5);
  assert.equal(found.falseAlarmsPerWeek, 0.5);
  assert.equal(found.medianHoursToDetect, 2);
  const again = [...alarms, { type: 'ip_region_anomaly', resource, at: 0, isRepeat: true }];
  assert.deepEqual(score([burst, revived], again, 4), found, 'a repeat is no new alarm');
  const missed = score(attacks, alarms, 4);
  assert.equal(missed.detected, 2);
  assert.equal(missed.missed.length, attacks.length - 2);
  assert.deepEqual(score([burst], [], 4).medianHoursToDetect, null);
});
