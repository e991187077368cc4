import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../assembly/settings.ts';
import { OwnHosts, ownNames } from './own-hosts.ts';

const hostsOf = (env: Record<string, string> = {}, regionUrl: string | null = null) =>
  new OwnHosts(ownNames(loadConfig(env), regionUrl, 'box.corp.example'));

test('addresses and the names of the machine are its own, with any port', () => {
  const own = hostsOf();
  const accepted = ['127.0.0.1:7400', '127.0.0.1', '[::1]:7400', '[::1]', '10.1.2.3:80', 'localhost:7400', 'LOCALHOST'];
  for (const host of [...accepted, 'localhost.:7400', 'box', 'box.local:7400', 'Box.corp.example']) {
    assert.ok(own.has(host), host);
  }
});

test('a name that somebody else can point here is not', () => {
  const own = hostsOf({ CV_BASE_URL: 'https://coffer.example.com' });
  const refused = [
    'evil.test',
    'evil.test:7400',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    'coffer.example.com.evil.test',
  ];
  const spelled = [
    '',
    ':7400',
    '[',
    '[evil.test]',
    '[::1].evil.test',
    '127.1',
    '0x7f000001',
    'xlocalhost',
    'evil.test#localhost',
  ];
  for (const host of [...refused, ...spelled, 'x.coffer.example.com', 'example.com', '*', '*.example.com']) {
    assert.ok(!own.has(host), host);
  }
});

test('the names of the base URL, of the region and those of CV_HOSTS are its own', () => {
  const own = hostsOf({ CV_BASE_URL: 'https://Coffer.example.com:8443', CV_HOSTS: 'coffer, *.svc.cluster.local' });
  for (const host of ['coffer.example.com', 'coffer:7400', 'coffer.vaults.svc.cluster.local'])
    assert.ok(own.has(host), host);
  for (const host of ['svc.cluster.local', '.svc.cluster.local', 'coffer.svc']) assert.ok(!own.has(host), host);
  const region = hostsOf({}, 'https://eu.example.com');
  assert.ok(region.has('eu.example.com'));
  assert.ok(!region.has('us.example.com'));
  assert.ok(hostsOf({ CV_HOSTS: '*' }).has('evil.test'), 'the operator turned it off');
});

test('CV_HOSTS takes names, and a star only for what is before a dot', () => {
  for (const wrong of ['a b', 'http://coffer', 'coffer:7400', '*coffer', 'a.*.b', '**', '*.']) {
    assert.throws(() => loadConfig({ CV_HOSTS: wrong }), /CV_HOSTS must be/, wrong);
  }
});
