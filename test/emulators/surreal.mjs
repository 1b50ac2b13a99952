// A WebSocket front for the SurrealDB engine of npm's @surrealdb/node: the RPC
// protocol of a SurrealDB server (cbor), as far as a client of ours needs it. The
// engine decodes, executes and encodes; here are only connections and sessions.
//
//   node surreal.mjs --port PORT --path rocksdb://DIR [--user NAME --pass PASSWORD]
//
// With --user that root user is made, and every connection has to sign in. One that
// has not gets an error for all but signin, authenticate, use, ping and version.
import { createServer } from "node:http";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { WebSocketServer } from "ws";

const { values: flags } = parseArgs({ options: {
	port: { type: "string" }, path: { type: "string" },
	user: { type: "string" }, pass: { type: "string", default: "" },
} });

const require = createRequire(import.meta.url);
const engine = await nativeEngine().connect(flags.path, { capabilities: true });
const owners = new Map(); // id of a live query, as hex → the connection that gets its notices

// nativeEngine loads the engine that was built for this machine.
function nativeEngine() {
	const folder = dirname(fileURLToPath(import.meta.resolve("@surrealdb/node")));
	const errors = [];
	for (const name of readdirSync(folder)) {
		if (!name.includes(`.${process.platform}-${process.arch}`)) continue;
		try {
			return require(join(folder, name)).SurrealNodeEngine;
		} catch (err) {
			errors.push(err); // built for another C library
		}
	}
	throw new Error(`no engine for ${process.platform}-${process.arch}`, { cause: errors });
}

// --- cbor, as far as needed -------------------------------------------------

const head = (major, n) => {
	if (n < 24) return Buffer.from([(major << 5) | n]);
	if (n < 256) return Buffer.from([(major << 5) | 24, n]);
	if (n < 65536) return Buffer.from([(major << 5) | 25, n >> 8, n & 255]);
	const b = Buffer.alloc(5);
	b[0] = (major << 5) | 26;
	b.writeUInt32BE(n, 1);
	return b;
};
const text = (s) => Buffer.concat([head(3, Buffer.byteLength(s)), Buffer.from(s)]);
const array = (items) => Buffer.concat([head(4, items.length), ...items]);
const map = (pairs) => Buffer.concat([head(5, pairs.length), ...pairs.flatMap(([k, v]) => [text(k), v])]);
const uuid = (bytes) => Buffer.concat([Buffer.from([0xd8, 37]), head(2, 16), bytes]);

// item returns the major type, the argument and the end of the head at i.
function item(b, i) {
	const major = b[i] >> 5, low = b[i] & 31;
	if (low < 24) return [major, low, i + 1];
	if (low === 31) return [major, -1, i + 1];
	const size = 1 << (low - 24);
	const n = size === 8 ? Number(b.readBigUInt64BE(i + 1)) : b.readUIntBE(i + 1, size);
	return [major, n, i + 1 + size];
}

// skip returns where the value at i ends.
function skip(b, i) {
	const [major, n, at] = item(b, i);
	if (major < 2 || major === 7) return at;
	if (major < 4 && n >= 0) return at + n;
	if (major === 6) return skip(b, at);
	let end = at;
	if (n < 0) {
		while (b[end] !== 0xff) end = skip(b, end);
		return end + 1;
	}
	for (let k = 0; k < (major === 5 ? 2 * n : n); k++) end = skip(b, end);
	return end;
}

// fields returns the bytes of a map's values by key; null of anything else.
function fields(b) {
	let [major, n, i] = item(b, 0);
	if (major !== 5) return null;
	const found = {};
	for (let k = 0; n < 0 ? b[i] !== 0xff : k < n; k++) {
		const [, size, at] = item(b, i);
		const end = skip(b, at + size);
		found[b.toString("utf8", at, at + size)] = b.subarray(at + size, end);
		i = end;
	}
	return found;
}

const string = (b) => (b ? b.toString("utf8", item(b, 0)[2]) : "");

// --- sessions ----------------------------------------------------------------

// execute gives a request to the engine.
const execute = async (pairs) => Buffer.from(await engine.execute(map(pairs)));

async function session() {
	const id = uuid(randomBytes(16));
	await execute([["id", text("attach")], ["method", text("attach")], ["session", id], ["params", array([])]]);
	return id;
}

const call = (id, method, params) =>
	execute([["id", text("front")], ["method", text(method)], ["session", id], ["params", array(params.map(text))]]);

const open = new Set(["signin", "authenticate", "use", "ping", "version", "invalidate"]);

async function serve(socket) {
	const id = await session();
	const mine = new Set();
	let signedIn = !flags.user;
	let last = Promise.resolve(); // what changes the session is done in order

	const answer = async (request) => {
		const method = string(request.method);
		if (!signedIn && !open.has(method)) return failure(-32602, "IAM error: Not enough permissions to perform this action");
		if (method === "ping") return [["result", Buffer.from([0xf6])]];
		const pairs = Object.entries(request).filter(([k]) => k !== "session");
		let result;
		try {
			result = await execute([...pairs, ["session", id]]);
		} catch (err) {
			return failure(-32000, String(err?.message ?? err));
		}
		const error = fields(result)?.error;
		if (error) return [["error", error]];
		if (method === "signin" || method === "authenticate") signedIn = true;
		if (method === "invalidate") signedIn = !flags.user;
		if (method === "live" || (method === "query" && /\bLIVE\s+SELECT\b/i.test(string(paramsOf(request)[0])))) note(result);
		return [["result", result]];
	};
	// note notes the ids of live queries in an answer.
	const note = (result) => {
		const tag = Buffer.from([0xd8, 37, 0x50]);
		for (let i = result.indexOf(tag); i >= 0; i = result.indexOf(tag, i + 1)) {
			const live = result.toString("hex", i + 3, i + 19);
			mine.add(live);
			owners.set(live, socket);
		}
	};
	const reply = (request, pairs) => {
		if (socket.readyState === socket.OPEN) socket.send(map([["id", request.id ?? Buffer.from([0xf6])], ...pairs]));
	};
	socket.on("message", (data) => {
		const request = fields(Buffer.from(data));
		if (!request) return socket.close(1003);
		const alone = string(request.method) !== "query";
		const turn = last.then(() => answer(request)).then((pairs) => reply(request, pairs));
		if (alone) last = turn.catch(() => {});
	});
	socket.on("error", () => socket.terminate());
	socket.on("close", async () => {
		for (const live of mine) {
			owners.delete(live);
			await execute([["id", text("kill")], ["method", text("kill")], ["session", id], ["params", array([uuid(Buffer.from(live, "hex"))])]]).catch(() => {});
		}
		await execute([["id", text("detach")], ["method", text("detach")], ["session", id], ["params", array([])]]).catch(() => {});
	});
}

function paramsOf(request) {
	const b = request.params;
	if (!b) return [];
	let [, n, i] = item(b, 0);
	const all = [];
	for (let k = 0; k < n; k++) {
		const end = skip(b, i);
		all.push(b.subarray(i, end));
		i = end;
	}
	return all;
}

const failure = (code, message) => [["error", map([["code", head(1, -code - 1)], ["message", text(message)]])]];

// notices hands the engine's notices to the connections that wait for them.
async function notices() {
	const receiver = await engine.notifications();
	for (;;) {
		const raw = await receiver.recv();
		if (raw === null) return;
		const notice = Buffer.from(raw);
		const id = fields(notice)?.id;
		const socket = id && owners.get(id.toString("hex", id.length - 16));
		if (socket?.readyState === 1) socket.send(map([["result", notice]]));
	}
}

const http = createServer((request, response) => response.end("ok\n"));
const sockets = new WebSocketServer({ server: http, handleProtocols: (offered) => (offered.has("cbor") ? "cbor" : false), perMessageDeflate: false });
sockets.on("connection", (socket) => {
	const early = [];
	const keep = (data) => early.push(data);
	socket.on("message", keep);
	serve(socket).then(() => {
		socket.off("message", keep);
		for (const data of early) socket.emit("message", data);
	}, () => socket.close(1011));
});
if (flags.user) {
	const made = await call(await session(), "query", [
		`DEFINE USER IF NOT EXISTS \`${flags.user}\` ON ROOT PASSWORD ${JSON.stringify(flags.pass)} ROLES OWNER`,
	]);
	if (made.includes("ERR") || fields(made)?.error) throw new Error("the user cannot be made: " + made.toString("latin1"));
}
notices();
http.listen(Number(flags.port), "127.0.0.1");
