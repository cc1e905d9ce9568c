# The command line and all components. The data of clusters is kept in /data; the API server listens on 6443:
#   docker build -t moorage . && docker run --rm -v "$PWD:/work:ro" moorage lint /work
#   docker run -p 6443:6443 -v moorage:/data moorage up --bind-address 0.0.0.0 --data-dir /data
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir build==1.6.1 \
 && python -m build --wheel --outdir /dist

FROM python:3.13-slim
COPY --from=build /dist /dist
RUN pip install --no-cache-dir /dist/*.whl \
 && rm -r /dist \
 && useradd --system --create-home --uid 10001 moorage \
 && install --directory --owner moorage /data
USER 10001
WORKDIR /work
VOLUME /data
EXPOSE 6443
ENTRYPOINT ["moorage"]
CMD ["help"]
