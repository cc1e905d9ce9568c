"""Rules that follow from the typed views: conversion, kept and unknown fields, merge keys."""
