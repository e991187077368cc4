import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../assembly/settings.ts';
import { copilotSettings } from './settings.ts';

test('the assistant has a provider, a model and a key, and is disabled without them', () => {
  const model = { CV_COPILOT_MODEL: 'm-1', CV_COPILOT_API_KEY_FILE: '/keys/model' };
  const openai = loadConfig({ CV_COPILOT_PROVIDER: 'openai', ...model }).of(copilotSettings);
  assert.deepEqual(JSON.parse(JSON.stringify(openai)), {
    provider: 'openai',
    url: 'https://api.openai.com',
    model: 'm-1',
    keyFile: '/keys/model',
    aws: null,
    requestsPerDay: 1000,
    timeoutMs: 60_000,
  });
  const aws = { CV_COPILOT_AWS_REGION: 'eu-central-1', CV_COPILOT_AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE000000' };
  const bedrock = loadConfig({ CV_COPILOT_PROVIDER: 'bedrock', ...model, ...aws }).of(copilotSettings);
  assert.equal(bedrock?.url, 'https://bedrock-runtime.eu-central-1.amazonaws.com');
  const url = 'https://x.openai.azure.com/';
  assert.equal(
    loadConfig({ CV_COPILOT_PROVIDER: 'azure-openai', ...model, CV_COPILOT_URL: url }).of(copilotSettings)?.url,
    url.slice(0, -1),
  );
  assert.equal(loadConfig({ CV_COPILOT_PROVIDER: 'ollama', CV_COPILOT_MODEL: 'm' }).of(copilotSettings)?.keyFile, null);
});

test('settings of the assistant that contradict each other say what to set', () => {
  const openai = { CV_COPILOT_PROVIDER: 'openai', CV_COPILOT_MODEL: 'm', CV_COPILOT_API_KEY_FILE: '/key' };
  const wrong: [Record<string, string>, RegExp][] = [
    [{ CV_COPILOT_MODEL: 'm' }, /CV_COPILOT_MODEL has no effect here: remove it, or set CV_COPILOT_PROVIDER/],
    [{ CV_COPILOT_PROVIDER: 'gemini' }, /CV_COPILOT_PROVIDER must be one of openai, azure-openai, bedrock, ollama/],
    [{ CV_COPILOT_PROVIDER: 'ollama' }, /CV_COPILOT_MODEL must be set too/],
    [{ ...openai, CV_COPILOT_API_KEY_FILE: '' }, /CV_COPILOT_API_KEY_FILE must be set too/],
    [{ ...openai, CV_COPILOT_PROVIDER: 'azure-openai' }, /CV_COPILOT_URL must be set too/],
    [{ ...openai, CV_COPILOT_PROVIDER: 'bedrock' }, /CV_COPILOT_AWS_REGION must be set too/],
    [{ ...openai, CV_COPILOT_AWS_REGION: 'eu-central-1' }, /set CV_COPILOT_PROVIDER=bedrock/],
    [{ ...openai, CV_COPILOT_URL: 'https://u:p@host' }, /CV_COPILOT_URL must be an http/],
    [{ ...openai, CV_COPILOT_MODEL: 'a b' }, /CV_COPILOT_MODEL must be the name of a model/],
    [{ ...openai, CV_COPILOT_REQUESTS_PER_DAY: '0' }, /CV_COPILOT_REQUESTS_PER_DAY must be a whole number/],
  ];
  for (const [env, message] of wrong) assert.throws(() => loadConfig(env), message);
});
