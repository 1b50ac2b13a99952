// The table of lease operations: what each answers in each state, for blobs and
// containers alike.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { refused } from './expect.js';

/** The id on record and two others. Leases are per resource, so all cells share them. */
export const [A, B, C] = [randomUUID(), randomUUID(), randomUUID()];

const seconds = (n) => new Promise((resolve) => setTimeout(resolve, n * 1000));

/** How a new resource gets into each state, with A on record. */
export const states = {
  async available() {},
  async leased(lease) {
    await lease(A).acquireLease(60);
  },
  async breaking(lease) {
    await lease(A).acquireLease(60);
    await lease().breakLease(40);
  },
  async broken(lease) {
    await lease(A).acquireLease(60);
    await lease().breakLease(0);
  },
  /** The shortest lease lasts 15 s, so all of these are acquired before one wait. */
  async expired(lease) {
    await lease(A).acquireLease(15);
  },
};

export const expiry = () => seconds(16);

/** Each operation as a client makes it. */
export const operations = {
  'acquire A': (lease) => lease(A).acquireLease(30),
  'acquire B': (lease) => lease(B).acquireLease(30),
  'renew A': (lease) => lease(A).renewLease(),
  'renew B': (lease) => lease(B).renewLease(),
  'change A to B': (lease) => lease(A).changeLease(B),
  'change B to A': (lease) => lease(B).changeLease(A),
  'change B to C': (lease) => lease(B).changeLease(C),
  'release A': (lease) => lease(A).releaseLease(),
  'release B': (lease) => lease(B).releaseLease(),
  'break 0': (lease) => lease().breakLease(0),
  'break 20': (lease) => lease().breakLease(20),
  'break': (lease) => lease().breakLease(),
};

const refusals = {
  present: 'LeaseAlreadyPresent',
  breakingNoAcquire: 'LeaseIsBreakingAndCannotBeAcquired',
  breakingNoChange: 'LeaseIsBreakingAndCannotBeChanged',
  brokenNoRenew: 'LeaseIsBrokenAndCannotBeRenewed',
  mismatch: 'LeaseIdMismatchWithLeaseOperation',
  absent: 'LeaseNotPresentWithLeaseOperation',
};

const statuses = { acquire: 201, renew: 200, change: 200, release: 200, break: 202 };

/** A cell is a state that follows, with the id on record where one is, or a refusal. */
const rows = `
operation     | available | leased      | breaking          | broken        | expired
acquire A     | leased A  | leased A    | breakingNoAcquire | leased A      | leased A
acquire B     | leased B  | present     | present           | leased B      | leased B
renew A       | mismatch  | leased A    | brokenNoRenew     | brokenNoRenew | leased A
renew B       | mismatch  | mismatch    | mismatch          | mismatch      | mismatch
change A to B | absent    | leased B    | breakingNoChange  | absent        | absent
change B to A | absent    | leased A    | mismatch          | absent        | absent
change B to C | absent    | mismatch    | mismatch          | absent        | absent
release A     | mismatch  | available   | available         | available     | available
release B     | mismatch  | mismatch    | mismatch          | mismatch      | mismatch
break 0       | absent    | broken 0    | broken 0          | broken 0      | broken 0
break 20      | absent    | breaking 20 | breaking 20       | broken 0      | broken 0
break         | absent    | breaking 60 | breaking 40       | broken 0      | broken 0
`;

/** The cells of the table: {operation, state, want}. */
export const cells = (() => {
  const [head, ...body] = rows.trim().split('\n').map((row) => row.split('|').map((word) => word.trim()));
  return body.flatMap(([operation, ...wants]) => wants.map((want, i) => ({ operation, state: head[i + 1], want })));
})();

/** A function from an id to the SDK's lease client for a resource. */
export const leasesOf = (resource) => (id) => resource.getBlobLeaseClient(id);

/** Makes the operation of a cell on a resource that is in its state, and checks what comes of it. */
export async function check(resource, { operation, state, want }) {
  const name = `${operation} while ${state}`;
  const lease = leasesOf(resource);
  const call = operations[operation](lease);
  if (refusals[want]) {
    await refused(call, 409, refusals[want], name);
    await expectState(resource, state, name);
    return;
  }
  const answer = await call;
  const [after, detail] = want.split(' ');
  assert.equal(answer._response.status, statuses[operation.split(' ')[0]], name);
  await expectState(resource, after, name);
  if (after === 'leased') await lease({ A, B }[detail]).renewLease();
  if (operation.startsWith('break')) expectSeconds(answer.leaseTime, Number(detail), name);
}

/** A second or two may have passed since the period began. */
function expectSeconds(got, want, name) {
  assert.ok(got <= want && got >= Math.max(0, want - 5), `${name}: x-ms-lease-time = ${got}, want ${want}`);
}

const locked = new Set(['leased', 'breaking']);

/** Checks the state, and the two headers that follow from it. */
export async function expectState(resource, state, name = '') {
  const { leaseState, leaseStatus, leaseDuration } = await resource.getProperties();
  const want = {
    leaseState: state,
    leaseStatus: locked.has(state) ? 'locked' : 'unlocked',
    leaseDuration: state === 'leased' ? leaseDuration ?? 'missing' : undefined,
  };
  assert.deepEqual({ leaseState, leaseStatus, leaseDuration }, want, name);
}
