export { clusterRemoved } from './links.ts';
export { countClusters, productionClusters } from './store.ts';
