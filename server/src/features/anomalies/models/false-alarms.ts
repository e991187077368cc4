/** How near a finding must at least be to one that was dismissed, to be taken for the same: a factor of 1.4 where features are logarithms to base 2. */
const RADIUS_MIN = 0.5;
/** However far apart dismissed findings are, this is the most: two of them must not hide everything in between. */
const RADIUS_MAX = 1;

type Features = readonly number[];

/**
 * Whether a finding is as near to a dismissed one as that one is to its nearest neighbour among the dismissed ones of its class (nearest neighbour
 * data description; Tax, 2001).
 */
export function isLikeDismissed(features: Features, dismissed: readonly Features[]): boolean {
  const comparable = dismissed.filter((one) => one.length === features.length);
  const nearest = nearestTo(features, comparable);
  if (nearest === null) return false;
  const neighbour = nearestTo(
    nearest.features,
    comparable.filter((one) => one !== nearest.features),
  );
  const radius = Math.min(Math.max(neighbour?.distance ?? 0, RADIUS_MIN), RADIUS_MAX);
  return nearest.distance <= radius;
}

function nearestTo(from: Features, others: readonly Features[]): { features: Features; distance: number } | null {
  let nearest: { features: Features; distance: number } | null = null;
  for (const features of others) {
    const distance = Math.hypot(...features.map((feature, i) => feature - (from[i] ?? 0)));
    if (nearest === null || distance < nearest.distance) nearest = { features, distance };
  }
  return nearest;
}
