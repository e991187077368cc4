import { render } from 'preact';
import { secondFactor } from './api.ts';
import { App, Insecure } from './app.tsx';
import { stepUpAsked } from './asked.ts';
import { watchIdleness } from './idle.ts';
import { applyStoredTheme } from './ui/theme.ts';

secondFactor.ask = (proof) =>
  new Promise((decide) => {
    stepUpAsked.value = { proof, decide };
  });
applyStoredTheme();
// A page that the browser kept from before a sign-out must not be shown again.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
const root = document.getElementById('app');
if (root !== null) render(isSecureContext ? <App /> : <Insecure />, root);
watchIdleness();
