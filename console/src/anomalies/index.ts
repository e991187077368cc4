export { anomaliesTexts } from './texts.ts';
