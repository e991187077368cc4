export { goToProvider, takeProviderAnswer } from './provider.ts';
