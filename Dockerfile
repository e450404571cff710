# The service with all its roles; ROLES chooses which run in a container. There is nothing to build: Node runs the TypeScript.
# The digest is that of an index for amd64 and arm64, among others. A tag may be moved; whoever updates one of both updates the other.
ARG NODE_IMAGE=node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
FROM ${NODE_IMAGE}

ENV NODE_ENV=production
WORKDIR /app

# Without the Node that npm brings for machines with an older one: this image has its own.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/node-linux-* node_modules/.bin/node && npm cache clean --force

COPY . .
# A named volume takes the owner of the folder that it is mounted on; compiled modules are kept in the other.
RUN install -d -o node -g node /data /data/blobs node_modules/.cache

# As in `npm start`: one arena of malloc for all threads, because each keeps the memory that its threads have freed, and long blocks
# outside of it.
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072
ENV HOST=0.0.0.0 PORT=8080 METRICS_PORT=9464 DATA_DIR=/data
USER node
VOLUME /data
EXPOSE 8080 9464

# Of every role.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Node itself, not npm, so that it gets the signal to stop.
CMD ["node", "--max-semi-space-size=8", "--import", "./boot.js", "main.ts"]
