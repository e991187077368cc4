import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../assembly/settings.ts';
import { regionSettings } from './settings.ts';

const TWO_REGIONS = {
  CV_REGION: 'eu',
  CV_REGIONS: 'eu=https://eu.example.com,us=https://us.example.com',
  CV_REGION_PEERS: 'us=/etc/coffer/us.pem',
  CV_REGION_CERT_FILE: '/etc/coffer/eu.pem',
  CV_REGION_KEY_FILE: '/etc/coffer/eu.key',
};

test('regions have URLs, peers and a certificate', () => {
  const region = loadConfig(TWO_REGIONS).of(regionSettings);
  assert.deepEqual(JSON.parse(JSON.stringify(region)), {
    name: 'eu',
    urls: { eu: 'https://eu.example.com', us: 'https://us.example.com' },
    peers: [{ name: 'us', certFile: '/etc/coffer/us.pem', syncUrl: 'https://us.example.com' }],
    certFile: '/etc/coffer/eu.pem',
    keyFile: '/etc/coffer/eu.key',
    leaseMs: 30_000,
  });
  const inside = loadConfig({ ...TWO_REGIONS, CV_REGION_PEERS: 'us=/etc/a@b/us.pem@https://us.internal:7443' });
  assert.deepEqual(inside.of(regionSettings)?.peers[0], {
    name: 'us',
    certFile: '/etc/a@b/us.pem',
    syncUrl: 'https://us.internal:7443',
  });
  assert.equal(
    loadConfig({ CV_REGION: 'eu', CV_REGIONS: 'eu=http://localhost:7400' }).of(regionSettings)?.peers.length,
    0,
  );
});

test('regions that contradict each other say what to set', () => {
  const wrong: [Record<string, string>, RegExp][] = [
    [{ CV_REGION: 'EU' }, /CV_REGION must be the name of a region/],
    [{ CV_REGION: 'ap' }, /CV_REGIONS must list the region in CV_REGION too/],
    [{ CV_REGIONS: 'eu=http://eu.example.com' }, /CV_REGIONS must be a comma-separated list/],
    [{ CV_REGIONS: 'eu=https://eu.example.com,eu=https://us.example.com' }, /CV_REGIONS must be/],
    [{ CV_REGIONS: 'eu=https://eu.example.com/path' }, /CV_REGIONS must be/],
    [{ CV_REGION_PEERS: 'us=' }, /CV_REGION_PEERS must be/],
    [{ CV_REGION_PEERS: 'ap=/etc/coffer/ap.pem' }, /us is missing/],
    [{ CV_REGION_PEERS: 'us=/a.pem,ap=/b.pem' }, /remove ap/],
    [{ CV_REGION_KEY_FILE: '' }, /belong together/],
    [{ CV_REGION_KEY_FILE: '', CV_REGION_CERT_FILE: '' }, /so that other regions know this one/],
    [{ CV_REGION_LEASE_SECONDS: '-1' }, /CV_REGION_LEASE_SECONDS must be/],
    [{ CV_REGION: '' }, /has no effect here: remove it, or set CV_REGION/],
  ];
  for (const [change, problem] of wrong) assert.throws(() => loadConfig({ ...TWO_REGIONS, ...change }), problem);
});
