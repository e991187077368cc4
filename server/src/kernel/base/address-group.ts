/** Groups IPv6 addresses by /64: one subscriber usually has a whole /64, so counting single addresses would limit nobody. */
export function addressGroup(address: string): string {
  return address.includes(':') ? groupsOf(address).slice(0, 4).join(':') : address;
}

/** The network that a customer of a provider can have whole: a /48 of IPv6, a /24 of IPv4. */
export function networkGroup(address: string): string {
  return address.includes(':') ? groupsOf(address).slice(0, 3).join(':') : address.split('.').slice(0, 3).join('.');
}

function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array(Math.max(0, 8 - left.length - right.length)).fill('0');
  return [...left, ...zeros, ...right];
}
