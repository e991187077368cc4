export { regionSettings } from './settings.ts';
