"""Whoever loads this has loaded and found out what a worker of a cluster does before it joins."""

from app.cluster import preload

preload.this_worker()
preload._warm()
