export { AskTrust } from './ask-trust.tsx';
export { OwnFactors, useOwnFactors } from './help.tsx';
export { isNewFactor, OpensFortress, useAreAllNew } from './opens.tsx';
export { fortressTexts } from './texts.ts';
