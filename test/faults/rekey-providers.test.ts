import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Installation, type Place, rekeyAgain } from '../support/interrupted-rekey.ts';
import { startService } from '../support/service.ts';

const KEYS = [1, 2].map((n) => Buffer.alloc(32, n).toString('base64'));
const PHRASES = ['the passphrase before it', 'the passphrase after it'];
const providers = [
  ['env', 'CV_ROOT_KEY', 'CV_NEW_ROOT_KEY', KEYS],
  ['passphrase', 'CV_ROOT_PASSPHRASE', 'CV_NEW_ROOT_PASSPHRASE', PHRASES],
] as const;

describe('a rekey with another provider that ends before any of its steps', () => {
  for (const [provider, variable, newVariable, [old = '', next = '']] of providers) {
    test(`${provider}: one of the two keys opens everything, and the other nothing`, async (t) => {
      const env = { CV_ROOT_KEY_PROVIDER: provider, [variable]: old };
      const renewed = { CV_ROOT_KEY_PROVIDER: provider, [variable]: next };
      const given = { [newVariable]: next };
      const installation = new Installation('sqlite', env);
      await installation.make();
      await installation.noteSteps(given);
      // Before its transaction one provider does what the other does, and a passphrase takes long to make a key of.
      const from = provider === 'env' ? 1 : installation.steps.lastIndexOf('begin immediate') + 1;
      let replaced = 0;
      const { ended, checked } = await installation.endAtEach(
        async (place) => {
          const isOld = await opens(place, env);
          assert.equal(await opens(place, renewed), !isOld, 'one of them opens it, and only one');
          await installation.assertWhole(place, isOld ? env : renewed);
          if (!isOld) {
            replaced++;
            return;
          }
          await rekeyAgain(place, given);
          await installation.assertWhole(place, renewed);
        },
        { from, given },
      );
      assert.ok(replaced > 0 && replaced < checked, 'some ended before the commit, some after');
      t.diagnostic(
        `${ended} of ${installation.steps.length} steps left ${checked} different states; ${replaced} with the new key`,
      );
    });
  }
});

async function opens({ dataDir }: Place, env: Record<string, string>): Promise<boolean> {
  try {
    const service = await startService('sqlite', { dataDir, env, keepData: true });
    await service.close();
    return true;
  } catch (error) {
    assert.match(String(error), /cannot decrypt this database/);
    return false;
  }
}
