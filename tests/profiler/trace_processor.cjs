// Perfetto's own trace processor (WebAssembly, as its web page ships it) as a filter: requests of its RPC protocol on
// stdin, replies on stdout. Usage: node trace_processor.cjs FOLDER, where FOLDER holds engine_bundle.js and *.wasm.
"use strict";
const fs = require("fs");
const path = require("path");

const folder = process.argv[2];

class FileRequest {
  open(method, url) {
    this.file = path.join(folder, path.basename(url));
  }
  send() {
    const data = fs.readFileSync(this.file);
    this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
  }
}

function write(data) {
  for (let sent = 0; sent < data.length; ) {
    try {
      sent += fs.writeSync(1, data, sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

// The bundle is written for a web worker: it gets the few things of one that it uses, and nothing of Node.
const worker = { location: { href: "file:///" } };
const quiet = { log() {}, warn() {}, error() {} };
const names = ["self", "location", "WorkerGlobalScope", "XMLHttpRequest", "console", "process", "require", "module"];
const bundle = fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8");
new Function(...names, bundle)(worker, worker.location, class {}, FileRequest, quiet);
const port = { postMessage: write };
worker.onmessage({ data: port });
setImmediate(() => process.stdin.on("data", (chunk) => port.onmessage({ data: new Uint8Array(chunk) })));
