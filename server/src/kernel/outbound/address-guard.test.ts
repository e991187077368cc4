import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { loadConfig } from '../../assembly/settings.ts';
import { AddressGuard, BlockedAddress, UnresolvedHost } from './address-guard.ts';

const PUBLIC = ['1.1.1.1', '8.8.8.8', '100.63.255.255', '172.32.0.1', '223.255.255.255', '2606:4700::1111', '2a00::1'];
/** Addresses that the operator can allow, by range. */
const PRIVATE = {
  loopback: ['127.0.0.1', '127.255.255.255', '::1'],
  'link-local and metadata': ['169.254.169.254', '169.254.0.1', 'fe80::1', 'febf::1'],
  'RFC 1918': ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  reserved: ['192.0.0.8', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '240.0.0.1'],
  'unique local, site-local': ['fc00::1', 'fd00:ec2::254', 'fec0::1'],
  'documentation, discard, benchmark': ['2001:db8::1', '3fff::1', '100::1', '2001:2::1', '2001:20::1'],
  'not given out': ['4000::1', '::2', '::7f00:1', '1::1', 'fe00::1', '5f00::1'],
  'mapped IPv4': ['::ffff:127.0.0.1', '::ffff:a00:1', '::ffff:169.254.169.254', '::127.0.0.1'],
  'translated IPv4': ['::ffff:0:10.0.0.1', '64:ff9b::10.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::8.8.8.8'],
  'tunnelled IPv4': ['2002:7f00:1::', '2002:808:808::1', '2001:0:808:808::1', '2001::1'],
};
const NEVER = ['0.0.0.0', '0.1.2.3', '255.255.255.255', '224.0.0.1', '239.1.1.1', '::', 'ff02::1', '::ffff:0.0.0.0'];
const OPEN = ['0.0.0.0/0', '::/0'];

function resolving(answers: readonly string[], allow: readonly string[] = []): AddressGuard {
  return new AddressGuard(allow, async () => answers);
}

const unasked = async () => assert.fail('an address needs no resolver');

async function blocked(guard: AddressGuard, host: string): Promise<void> {
  await assert.rejects(guard.resolve(host), BlockedAddress, host);
}

describe('addresses', () => {
  test('public ones pass, and are not called private even where everything is opened', async () => {
    for (const guard of [new AddressGuard([], unasked), new AddressGuard(OPEN, unasked)]) {
      for (const address of PUBLIC) {
        const family = address.includes(':') ? 6 : 4;
        assert.deepEqual(await guard.resolve(address), { address, family, isPrivateAllowed: false });
      }
    }
    assert.equal((await new AddressGuard([]).resolve('64:ff9b::8.8.8.8')).isPrivateAllowed, false, 'public by NAT64');
  });

  for (const [kind, addresses] of Object.entries(PRIVATE)) {
    test(`${kind}: blocked, as a literal and as an answer, until its range is opened`, async () => {
      for (const address of addresses) {
        await blocked(new AddressGuard([], unasked), address);
        if (address.includes(':')) await blocked(new AddressGuard([], unasked), `[${address}]`);
        await blocked(resolving([address]), 'name.example');
        assert.equal((await new AddressGuard(OPEN, unasked).resolve(address)).isPrivateAllowed, true, address);
        assert.equal((await resolving([address], ['name.example']).resolve('name.example')).isPrivateAllowed, true);
      }
    });
  }

  test('some are blocked whatever is opened', async () => {
    for (const address of NEVER) {
      await blocked(new AddressGuard(OPEN, unasked), address);
      await blocked(resolving([address], ['name.example', ...OPEN]), 'name.example');
    }
  });

  test('a mapped address is the IPv4 address, judged and returned as such', async () => {
    const guard = new AddressGuard(['10.0.0.0/8'], unasked);
    const unwrapped = { address: '10.0.0.1', family: 4, isPrivateAllowed: true };
    assert.deepEqual(await guard.resolve('::ffff:10.0.0.1'), unwrapped);
    assert.deepEqual(await guard.resolve('[::ffff:a00:1]'), unwrapped);
    await blocked(guard, '64:ff9b::10.0.0.1');
  });

  test('opening one range opens no other', async () => {
    const guard = new AddressGuard(['10.1.0.0/16', 'fd00::/64'], unasked);
    assert.equal((await guard.resolve('10.1.255.255')).isPrivateAllowed, true);
    assert.equal((await guard.resolve('fd00::5')).isPrivateAllowed, true);
    for (const address of ['10.2.0.0', '10.0.255.255', '127.0.0.1', 'fd00:0:0:1::1', '169.254.169.254']) {
      await blocked(guard, address);
    }
  });

  test('no IPv4 address inside a private range passes, however it is wrapped', async () => {
    const first = fc.constantFrom([10], [127], [169, 254], [192, 168], [172, 20], [100, 100], [0], [240]);
    const rest = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(first, rest, async (head, tail) => {
        const dotted = [...head, ...tail].slice(0, 4).join('.');
        const hex = [...head, ...tail].slice(0, 4).map((byte) => byte.toString(16).padStart(2, '0'));
        const low = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
        const wraps = [dotted, `::ffff:${dotted}`, `::ffff:${low}`, `::${low}`, `64:ff9b::${low}`, `2002:${low}::1`];
        for (const text of wraps) await blocked(resolving([text]), 'name.example');
      }),
    );
  });
});

describe('names', () => {
  test('every answer must be acceptable, wherever the bad one stands', async () => {
    const good = await resolving(['1.1.1.1', '2606:4700::1111']).resolve('Name.Example');
    assert.deepEqual(good, { address: '1.1.1.1', family: 4, isPrivateAllowed: false });
    for (const answers of [
      ['1.1.1.1', '127.0.0.1'],
      ['10.0.0.1', '1.1.1.1'],
      ['1.1.1.1', '::1', '8.8.8.8'],
      ['1.1.1.1', 'fe80::1%eth0'],
      ['1.1.1.1', 'no address'],
    ]) {
      await blocked(resolving(answers), 'name.example');
    }
  });

  test('a listed name may lead to private addresses; names under it, and others, may not', async () => {
    const { outboundAllow } = loadConfig({ CV_OUTBOUND_ALLOW: 'DB.internal,192.168.0.0/16' });
    const lookedUp: string[] = [];
    const guard = new AddressGuard(outboundAllow, async (host) => {
      lookedUp.push(host);
      return host === 'lan.example' ? ['192.168.1.1'] : ['10.0.0.1'];
    });
    const found = { address: '10.0.0.1', family: 4, isPrivateAllowed: true };
    assert.deepEqual(await guard.resolve('db.internal'), found);
    assert.deepEqual(await guard.resolve('db.INTERNAL'), found);
    assert.equal((await guard.resolve('lan.example')).isPrivateAllowed, true, 'by its range');
    for (const other of ['x.db.internal', 'internal', 'db.internal.example', 'db-internal'])
      await blocked(guard, other);
    assert.deepEqual([...new Set(lookedUp)].slice(0, 2), ['db.internal', 'lan.example'], 'asked in lower case');
  });

  test('other spellings of an address reach no resolver, even where everything is opened', async () => {
    const guard = new AddressGuard([...OPEN, 'localhost'], unasked);
    const spellings = [
      '0x7f.1',
      '0x7f000001',
      '2130706433',
      '017700000001',
      '0177.0.0.1',
      '127.1',
      '127.0.1',
      '127.0.0.1.',
    ];
    const shapes = [
      'localhost.',
      '',
      '.',
      'a b',
      'x/y',
      'x:80',
      'u@x',
      '127.0.0.1%00',
      '[127.0.0.1]',
      '[::1',
      '::1]',
      '[]',
    ];
    const letters = [
      '１２７.0.0.1',
      '127。0。0。1',
      'ⓛocalhost',
      'x\0y',
      'x\ny',
      'fe80::1%lo',
      '[fe80::1%lo]',
      '*.example',
    ];
    for (const host of [...spellings, ...shapes, ...letters]) await blocked(guard, host);
  });

  test('a name without an address, and a resolver that fails, are another error than a blocked one', async () => {
    await assert.rejects(resolving([]).resolve('name.example'), UnresolvedHost);
    const failing = new AddressGuard([], () => Promise.reject(new Error('ENOTFOUND at 10.9.8.7')));
    await assert.rejects(failing.resolve('name.example'), (error) => {
      return error instanceof UnresolvedHost && !error.message.includes('10.9') && error.cause === undefined;
    });
  });

  test('a resolver that never answers is waited for only so long', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const waiting = new AddressGuard([], () => new Promise(() => {})).resolve('name.example');
    t.mock.timers.tick(5000);
    await assert.rejects(waiting, UnresolvedHost);
  });

  test('the resolver of the system is used, and the name of this machine is not public', async () => {
    await blocked(new AddressGuard([]), 'localhost');
    const { isPrivateAllowed, address } = await new AddressGuard(['localhost']).resolve('localhost');
    assert.ok(isPrivateAllowed);
    assert.match(address, /^(?:127\.0\.0\.1|::1)$/);
  });

  test('an error names the host as it was given, and no address behind it', async () => {
    await assert.rejects(resolving(['10.11.12.13']).resolve('name.example'), (error) => {
      assert.ok(error instanceof BlockedAddress);
      assert.match(error.message, /^The host name\.example is not public/);
      return !JSON.stringify([error, error.message, error.stack]).includes('10.11');
    });
    await assert.rejects(resolving([]).resolve('a\nb'), /^BlockedAddress: The host is not public/);
    await assert.rejects(resolving([]).resolve('x'.repeat(5000)), /^BlockedAddress: The host is not public/);
  });
});

describe('before a host is resolved', () => {
  const refused = (allow: readonly string[], isEncrypted: boolean, hosts: readonly string[]) => {
    const guard = new AddressGuard(allow, unasked);
    return hosts.filter((host) => guard.refusalOf(host, isEncrypted) !== null);
  };
  const bracketed = (address: string) => (address.includes(':') ? `[${address}]` : address);
  const literals = Object.values(PRIVATE).flat().map(bracketed);

  test('an address that is not public is refused unless its range is open, and some never are', () => {
    assert.deepEqual(refused([], true, literals), literals);
    assert.deepEqual(refused(OPEN, true, literals), []);
    assert.deepEqual(refused(OPEN, false, literals), []);
    const never = NEVER.map(bracketed);
    assert.deepEqual(refused(OPEN, true, never), never);
    assert.deepEqual(refused([], true, ['localhost', 'a.localhost', '0x7f.1', '2130706433']).length, 4);
    assert.deepEqual(refused(['localhost', '127.0.0.1/32'], false, ['localhost', 'a.localhost']), []);
  });

  test('a public host needs encryption; what a name leads to is decided when it is called', () => {
    const open = PUBLIC.map(bracketed);
    assert.deepEqual(refused([], true, [...open, 'siem.example.com']), []);
    assert.deepEqual(refused(OPEN, false, open), open);
    assert.deepEqual(refused([], false, ['siem.example.com']), ['siem.example.com']);
    assert.deepEqual(refused(['siem.internal'], false, ['siem.internal', 'Siem.Internal', 'x.internal']), [
      'x.internal',
    ]);
    assert.deepEqual(refused(['10.0.0.0/8'], false, ['siem.internal']), []);
  });
});
