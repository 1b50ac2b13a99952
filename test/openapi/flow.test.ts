// The life of a lease, with a client that is generated from the document. What
// is shown is half in the types: there is no cast here, and every value is used
// as the type that the document gives it.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { env } from 'node:process';
import { test } from 'node:test';
import createClient from 'openapi-fetch';
import type { components, paths } from './build/api.js';

type Problem = components['schemas']['Problem'];

const baseUrl = env['LEASEHOLD_API_URL'];
assert.ok(baseUrl, 'LEASEHOLD_API_URL names no server; start these tests with node run.js');
const client = createClient<paths>({ baseUrl });

interface Answer<Data> {
  data?: Data | undefined;
  error?: unknown;
  response: Response;
}

/** What the server answered, which must be this status. */
function answered<Data>(answer: Answer<Data>, status: number): Data {
  assert.equal(answer.response.status, status, JSON.stringify(answer.error));
  assert.ok(answer.data !== undefined);
  return answer.data;
}

/** The problem that the server answered with, which must be this status and code. */
function refused(answer: { error?: Problem | undefined; response: Response }, status: number, code: string): Problem {
  assert.equal(answer.response.status, status);
  assert.ok(answer.error !== undefined);
  assert.equal(answer.error.status, status);
  assert.equal(answer.error.code, code);
  return answer.error;
}

const resourceOf = (name: string) => `openapi:${name}:${randomUUID()}`;

test('the life of a lease', async () => {
  const resource = resourceOf('life');
  const before = new Date();
  const grant = answered(
    await client.POST('/v1/leases/acquire', {
      body: { resource, holder: 'ts:1', ttl_seconds: 60, metadata: { region: 'us-east-1' } },
    }),
    201,
  );
  const id: string = grant.lease_id;
  const token: number = grant.token;
  assert.equal(grant.metadata['region'], 'us-east-1');
  assert.ok(grant.expires_at !== null && new Date(grant.expires_at) > before);

  const conflict = refused(await client.POST('/v1/leases/acquire', { body: { resource, holder: 'ts:2' } }), 409, 'lease_held');
  assert.equal(conflict.current?.holder, 'ts:1');
  assert.equal(conflict.current.lease_id, undefined);
  assert.equal(conflict.queue_length, 0);

  const again = answered(await client.POST('/v1/leases/acquire', { body: { resource, holder: 'ts:1', lease_id: id } }), 200);
  assert.equal(again.idempotent, true);
  assert.equal(again.token, token);

  const renewed = answered(await client.POST('/v1/leases/renew', { body: { lease_id: id, holder: 'ts:1', token, ttl_seconds: 120 } }), 200);
  assert.equal(renewed.lease_id, id);
  assert.equal(renewed.ttl_seconds, 120);
  assert.equal(renewed.renewals, 2);

  const found = answered(await client.POST('/v1/leases/get', { body: { lease_id: id } }), 200);
  assert.equal(found.lease_id, id);
  assert.equal(found.status, 'active');

  const listed = answered(await client.GET('/v1/leases', { params: { query: { resource, status: ['active', 'breaking'] } } }), 200);
  assert.deepEqual(listed.leases.map((lease) => [lease.holder, lease.token, lease.lease_id]), [['ts:1', token, undefined]]);
  assert.equal(listed.next_cursor, '');

  const checked = answered(await client.POST('/v1/leases/check', { body: { resource, token } }), 200);
  assert.equal(checked.current, true);

  const changed = answered(await client.POST('/v1/leases/change', { body: { lease_id: id, proposed_lease_id: randomUUID() } }), 200);
  const released = answered(await client.POST('/v1/leases/release', { body: { lease_id: changed.lease_id, reason: 'done' } }), 200);
  assert.equal(released.success, true);
  assert.equal(released.lease_id, changed.lease_id);
  assert.equal(released.status, 'released');
  refused(await client.POST('/v1/leases/release', { body: { lease_id: changed.lease_id } }), 404, 'lease_released');

  const { history } = answered(await client.GET('/v1/history', { params: { query: { resource } } }), 200);
  assert.deepEqual(history.map((record) => record.event), ['released', 'changed', 'renewed', 'renewed', 'acquired']);
  assert.equal(history[0]?.reason, 'done');

  const status = answered(await client.GET('/v1/resource', { params: { query: { resource } } }), 200);
  assert.equal(status.locked, false);
  assert.equal(status.lease?.status, 'released');
});

test('the other names of fields', async () => {
  const resource = resourceOf('names');
  const grant = answered(await client.POST('/v1/leases/acquire', { body: { file_path: resource, agent_id: 'ts:1', duration: 60 } }), 201);
  assert.equal(grant.resource, resource);
  assert.equal(grant.holder, 'ts:1');
  answered(await client.POST('/v1/leases/release', { body: { lease_id: grant.lease_id, file_path: resource, agent_id: 'ts:1' } }), 200);
});

test('several at once', async () => {
  const { answers } = answered(
    await client.POST('/v1/leases/batch', {
      body: { operations: [{ op: 'acquire', request: { resource: resourceOf('batch'), holder: 'ts:1' } }] },
    }),
    200,
  );
  assert.equal(answers.length, 1);
  assert.equal(answers[0]?.status, 201);
});

test('a lease of several', async () => {
  const namespace = resourceOf('several');
  const grant = answered(
    await client.POST('/v1/leases/acquire', {
      body: { resources: [resourceOf('several')], namespace, paths: [{ pattern: 'src/**' }, { pattern: 'go.mod', mode: 'shared' }], holder: 'ts:1' },
    }),
    201,
  );
  assert.deepEqual(grant.claims?.map((claim) => claim.mode), ['exclusive', 'exclusive', 'shared']);

  const narrow = { namespace, paths: [{ pattern: '*/auth' }], holder: 'ts:2', sequence: true };
  const conflict = refused(await client.POST('/v1/leases/acquire', { body: narrow }), 409, 'lease_held');
  assert.equal(conflict.overlap?.part, 'src/auth');
  assert.equal(conflict.overlap.held.pattern, 'src/**');
  assert.equal(conflict.current?.resource, grant.resource);

  const listed = answered(await client.GET('/v1/leases', { params: { query: { namespace, path: 'src/*' } } }), 200);
  assert.deepEqual(listed.leases.map((lease) => lease.token), [grant.token]);

  answered(await client.POST('/v1/leases/release', { body: { lease_id: grant.lease_id, note: 'half done' } }), 200);
  const next = answered(await client.POST('/v1/leases/acquire', { body: { claims: [{ namespace, pattern: 'src/auth' }], holder: 'ts:2' } }), 201);
  assert.deepEqual(next.notes, [{ from: 'ts:1', text: 'half done' }]);

  const shared = resourceOf('shared');
  for (const holder of ['ts:1', 'ts:2']) {
    answered(await client.POST('/v1/leases/acquire', { body: { resource: shared, mode: 'shared', holder } }), 201);
  }
  const status = answered(await client.GET('/v1/resource', { params: { query: { resource: shared } } }), 200);
  assert.deepEqual(status.leases?.map((lease) => lease.holder), ['ts:1', 'ts:2']);
});

test('what a type must not let pass', async () => {
  // @ts-expect-error: a renewal needs an id
  refused(await client.POST('/v1/leases/renew', { body: {} }), 400, 'invalid_argument');
  // @ts-expect-error: one resource needs its name
  refused(await client.GET('/v1/resource', {}), 400, 'invalid_argument');
});

test('paths that are open to everybody', async () => {
  assert.equal(answered(await client.GET('/healthz'), 200).status, 'healthy');
  assert.equal(answered(await client.GET('/health/ready'), 200).status, 'healthy');
});
