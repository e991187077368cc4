import { render } from 'preact';
import { secondFactor } from '../app/api.ts';
import { watchIdleness } from '../app/idle.ts';
import { stepUpRequest } from '../app/step-up-prompt.ts';
import { App, Insecure, watchClipboard } from './app.tsx';
import { applyStoredTheme } from './theme.ts';

secondFactor.ask = (proof) =>
  new Promise((decide) => {
    stepUpRequest.value = { proof, decide };
  });
applyStoredTheme();
// A page that the browser kept from before a sign-out must not be shown again.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
const root = document.getElementById('app');
if (root !== null) render(isSecureContext ? <App /> : <Insecure />, root);
watchIdleness();
watchClipboard();
