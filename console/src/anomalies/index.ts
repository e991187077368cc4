export { ReadsPlot } from './reads-part.ts';
export { anomaliesTexts } from './texts.ts';
